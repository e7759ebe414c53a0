#include "server/app/connection_string.h"

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/file_text.h"
#include "server/observe/dsn/dsn.h"

namespace headgate::app {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 10;

// Without white space around it: files mostly end in a newline.
absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  const auto fail = [&](const auto& why) {
    return absl::FailedPreconditionError(absl::StrCat(path, " ", why));
  };
  absl::StatusOr<std::string> text = ReadFileText(path, kMaxBytes);
  if (!text.ok()) return fail(text.status().message());
  if (text->find('\0') != std::string::npos) return fail("does not hold a secret");
  absl::StripAsciiWhitespace(&*text);
  if (text->empty()) return fail("is empty");
  return text;
}

}  // namespace

absl::StatusOr<std::string> ReadConnectionString(const config::PostgresSource& source) {
  if (!source.dsn_file.empty()) return ReadSecret(source.dsn_file);
  if (!source.dsn_env.empty()) {
    const char* const value = std::getenv(source.dsn_env.c_str());
    if (value != nullptr && *value != '\0') return std::string(value);
    return absl::FailedPreconditionError(absl::StrCat("the environment has no ", source.dsn_env));
  }
  if (source.password_file.empty()) return source.dsn;
  absl::StatusOr<std::string> password = ReadSecret(source.password_file);
  if (!password.ok()) return password.status();
  return dsn::WithPassword(source.dsn, *password);
}

}  // namespace headgate::app
