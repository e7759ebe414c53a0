#include "server/config/dsn.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"

namespace headgate::config {
namespace {

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

bool IsHexDigit(char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); }

bool IsSecret(std::string_view key) { return key == "password" || key == "sslpassword"; }

absl::Status HoldsPassword() {
  return absl::InvalidArgumentError(
      "dsn holds a password; put that into a password_file, or all of it into a dsn_file or an "
      "environment variable (dsn_env)");
}

absl::Status NoDsn() {
  return absl::InvalidArgumentError(
      "dsn is no connection string; write host=db port=5432 dbname=app user=headgate, or "
      "postgresql://headgate@db:5432/app");
}

// What libpq reads of a URI's key: %77 is a w.
std::string Decoded(std::string_view key) {
  std::string decoded;
  for (size_t i = 0; i < key.size(); ++i) {
    const bool escaped =
        key[i] == '%' && i + 2 < key.size() && IsHexDigit(key[i + 1]) && IsHexDigit(key[i + 2]);
    decoded += escaped ? absl::HexStringToBytes(Sv(key.substr(i + 1, 2)))[0] : key[i];
    if (escaped) i += 2;
  }
  return decoded;
}

// Behind "postgresql://": [user[:password]@]hosts[/name][?key=value&...]
absl::Status CheckUri(std::string_view rest) {
  // As libpq reads it: a password may hold a '?'.
  const size_t user_end = rest.find_first_of("@/");
  if (user_end != std::string_view::npos && rest[user_end] == '@') {
    const size_t colon = rest.find(':');
    if (colon < user_end && colon + 1 < user_end) return HoldsPassword();
  }
  // To the last @ before the query: a password with a '/' or '@' in it is a mistake, and secret.
  const size_t query = std::min(rest.find('?'), rest.size());
  const std::string_view before = rest.substr(0, query);
  const size_t at = before.rfind('@');
  if (at != std::string_view::npos) {
    const size_t colon = before.find(':');
    if (colon < at && colon + 1 < at) return HoldsPassword();
  }
  for (const auto pair : absl::StrSplit(Sv(rest.substr(query)), absl::ByAnyChar("?&"))) {
    const size_t equals = std::min(pair.find('='), pair.size());
    if (IsSecret(Decoded({pair.data(), equals}))) return HoldsPassword();
  }
  return absl::OkStatus();
}

// Reads key=value pairs as libpq does: white space around '=', values in single quotes,
// backslashes.
class PairScanner {
 public:
  explicit PairScanner(std::string_view text) : text_(text) {}

  absl::Status Run() {
    for (SkipSpace(); !text_.empty(); SkipSpace()) {
      const size_t end = std::min(text_.find_first_of("= \t\r\n\v\f"), text_.size());
      const std::string_view key = text_.substr(0, end);
      text_.remove_prefix(end);
      SkipSpace();
      if (key.empty() || text_.empty() || text_.front() != '=') return NoDsn();
      if (IsSecret(key)) return HoldsPassword();
      text_.remove_prefix(1);
      SkipSpace();
      if (!SkipValue()) return NoDsn();
    }
    return absl::OkStatus();
  }

 private:
  void SkipSpace() {
    while (!text_.empty() && IsSpace(text_.front())) text_.remove_prefix(1);
  }

  // False for a quote that does not end.
  bool SkipValue() {
    const bool quoted = !text_.empty() && text_.front() == '\'';
    if (quoted) text_.remove_prefix(1);
    while (!text_.empty()) {
      const char c = text_.front();
      if (!quoted && IsSpace(c)) return true;
      text_.remove_prefix(c == '\\' && text_.size() > 1 ? 2 : 1);
      if (quoted && c == '\'') return true;
    }
    return !quoted;
  }

  std::string_view text_;
};

}  // namespace

absl::Status CheckDsn(std::string_view dsn) {
  for (const std::string_view scheme : {"postgresql://", "postgres://"}) {
    if (dsn.starts_with(scheme)) return CheckUri(dsn.substr(scheme.size()));
  }
  return PairScanner(dsn).Run();
}

}  // namespace headgate::config
