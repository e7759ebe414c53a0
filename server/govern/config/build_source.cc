// Where a connection string comes from.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/file_text.h"
#include "common/nearest_word.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"
#include "server/observe/dsn/dsn.h"
#include "server/observe/dsn/password_file.h"

namespace headgate::config {
namespace {

bool IsVariable(const std::string& name) {
  const auto fits = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !absl::ascii_isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), fits);
}

// What to say of the first keyword that libpq does not know; empty: it knows all. The keyword is
// not shown: with a quote forgotten it may be a part of a password.
std::string UnknownKeyword(const std::string& text) {
  const std::vector<std::string> known = dsn::KnownKeywords();
  for (const std::string& keyword : dsn::KeywordsIn(text)) {
    if (std::find(known.begin(), known.end(), keyword) != known.end()) continue;
    const std::string nearest = NearestWord(keyword, known);
    return absl::StrCat("has a keyword that libpq does not know",
                        nearest.empty() ? "" : "; did you mean ", nearest,
                        nearest.empty() ? "" : "?");
  }
  return "";
}

// What to say of the file of passwords that it names; empty: nothing. One that is not there yet may
// be where the server runs.
std::string UnreadPassfile(const std::string& text) {
  const absl::StatusOr<dsn::Dsn> dsn = dsn::ParseDsn(text);
  if (!dsn.ok()) return "";
  const auto passfile =
      std::find_if(dsn->others.begin(), dsn->others.end(),
                   [](const auto& parameter) { return parameter.first == "passfile"; });
  std::error_code ignored;
  if (passfile == dsn->others.end()) return "";
  if (!std::filesystem::exists(passfile->second, ignored)) return "";
  return dsn::UnreadPasswordFile(*dsn);
}

}  // namespace

// What is not there yet is no finding: a file may be mounted, a variable set, where the server
// runs.
void Builder::WarnOfKeywords(const v1::Postgres& from) {
  using Field = v1::Postgres;
  const auto warn = [&](int field, const std::string& text) {
    const std::string unknown = UnknownKeyword(text);
    const absl::Status parsed = dsn::ParseDsn(text).status();
    if (!unknown.empty()) {
      findings.Warn(from, field, absl::StrCat("the connection string ", unknown));
    } else if (!parsed.ok()) {
      findings.Warn(from, field, std::string(parsed.message()));
    }
    const std::string unread = UnreadPassfile(text);
    if (!unread.empty()) findings.Warn(from, field, unread);
  };
  if (!from.dsn().empty()) {
    const std::string unread = UnreadPassfile(from.dsn());
    if (!unread.empty()) findings.Warn(from, Field::kDsnFieldNumber, unread);
  }
  if (!from.dsn_file().empty()) {
    const absl::StatusOr<std::string> text = ReadFileText(from.dsn_file());
    if (text.ok()) warn(Field::kDsnFileFieldNumber, *text);
  }
  if (from.dsn_env().empty()) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* const value = std::getenv(from.dsn_env().c_str());
  if (value != nullptr) warn(Field::kDsnEnvFieldNumber, value);
}

PostgresSource Builder::BuildSource(const v1::Postgres& from) {
  using Field = v1::Postgres;
  int given = 0;
  for (const int field :
       {Field::kDsnFieldNumber, Field::kDsnFileFieldNumber, Field::kDsnEnvFieldNumber}) {
    given += positions().Given(from, field) ? 1 : 0;
  }
  if (given != 1) {
    findings.Say(from, given == 0 ? "needs one of dsn, dsn_file and dsn_env"
                                  : "takes only one of dsn, dsn_file and dsn_env");
  }
  if (!from.dsn().empty()) {
    const absl::Status status = dsn::CheckDsn(from.dsn());
    if (!status.ok()) {
      const std::string unknown = dsn::HoldsPassword(from.dsn()) ? "" : UnknownKeyword(from.dsn());
      findings.Say(from, Field::kDsnFieldNumber,
                   unknown.empty() ? std::string(status.message()) : "dsn " + unknown);
    }
  }
  if (other_files == OtherFiles::kRead) WarnOfKeywords(from);
  if (!from.dsn_env().empty() && !IsVariable(from.dsn_env())) {
    findings.Say(from, Field::kDsnEnvFieldNumber,
                 "dsn_env must be the name of an environment variable: letters, digits and _");
  }
  if (!from.password_file().empty() && !positions().Given(from, Field::kDsnFieldNumber)) {
    findings.Say(from, Field::kPasswordFileFieldNumber,
                 "password_file goes with dsn; in a dsn_file or a dsn_env the password may be "
                 "part of the connection string");
  }
  return {.dsn = from.dsn(),
          .dsn_file = from.dsn_file(),
          .dsn_env = from.dsn_env(),
          .password_file = from.password_file()};
}

}  // namespace headgate::config
