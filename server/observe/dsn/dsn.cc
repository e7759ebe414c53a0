#include "server/observe/dsn/dsn.h"

#include <arpa/inet.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace headgate::dsn {
namespace {

struct OptionsFreer {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, OptionsFreer>;

// Null if it is no connection string. What libpq has to say about it is not taken: it quotes.
Options OptionsIn(const std::string& text) {
  if (text.find('\0') != std::string::npos) return nullptr;
  return Options(PQconninfoParse(text.c_str(), nullptr));
}

// Null if it is not set.
const char* Find(const Options& options, std::string_view keyword) {
  for (const PQconninfoOption* option = options.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == keyword) return option->val;
  }
  return nullptr;
}

std::string ValueOf(const Options& options, std::string_view keyword) {
  const char* const value = Find(options, keyword);
  return value == nullptr ? "" : value;
}

std::vector<std::string> ListOf(const std::string& value) { return absl::StrSplit(value, ','); }

// The i-th of a list in which one value stands for all. Where there are several, none is
// PostgreSQL's own, and not what PGPORT has.
std::string PortAt(const std::vector<std::string>& list, size_t i) {
  constexpr char kPostgres[] = "5432";
  if (list.size() == 1) return list[0];
  return i < list.size() && !list[i].empty() ? list[i] : kPostgres;
}

// These parameters are set by the code that opens the connection, and not by the connection string:
// where to connect, how long to wait, and under which name the session is shown.
bool IsOurs(std::string_view keyword) {
  return keyword == "host" || keyword == "hostaddr" || keyword == "port" ||
         keyword == "connect_timeout" || keyword == "application_name" ||
         keyword == "client_encoding";
}

// A password with a '/' or '@' in it ends a URI's user part where its author did not mean it to.
// What libpq takes for a port or a database is then a secret.
bool HoldsMisplacedPassword(std::string_view text) {
  if (!text.starts_with("postgresql://") && !text.starts_with("postgres://")) return false;
  text.remove_prefix(text.find("//") + 2);
  text = text.substr(0, text.find('?'));
  const size_t at = text.rfind('@');
  return at != std::string_view::npos && text.find(':') < at && text.find(':') + 1 < at;
}

std::string Quoted(const std::string& value) {
  const bool is_plain = value.find_first_of(" \t\r\n\v\f'\\") == std::string::npos;
  if (is_plain && !value.empty()) return value;
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// Before version 16 libpq takes the word for the name of a file.
absl::Status CheckRootCertificate(const std::string& file) {
  constexpr int kFirst = 160000;
  if (file != "system" || PQlibVersion() >= kFirst) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "sslrootcert=system takes libpq 16 or newer, and this is ", PQlibVersion() / 10000,
      "; name a file of certificates, such as /etc/ssl/certs/ca-certificates.crt, and "
      "sslmode=verify-full"));
}

absl::Status NoDsn() {
  return absl::InvalidArgumentError(
      "dsn is no connection string; write host=db port=5432 dbname=app user=headgate, or "
      "postgresql://headgate@db:5432/app");
}

}  // namespace

bool Dsn::Host::needs_lookup() const {
  if (!address.empty() || host.empty() || host[0] == '/' || host[0] == '@') return false;
  in6_addr ignored;
  return inet_pton(AF_INET, host.c_str(), &ignored) != 1 &&
         inet_pton(AF_INET6, host.c_str(), &ignored) != 1;
}

absl::StatusOr<Dsn> ParseDsn(const std::string& text) {
  const Options given = OptionsIn(text);
  if (given == nullptr) {
    return absl::InvalidArgumentError(
        "the connection string is neither key=value pairs nor a postgresql:// URI");
  }
  Dsn dsn;
  dsn.application_name = ValueOf(given, "application_name");
  for (const PQconninfoOption* option = given.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr || IsOurs(option->keyword)) continue;
    dsn.others.emplace_back(option->keyword, option->val);
  }
  dsn.names_service = !ValueOf(given, "service").empty();
  // What a service says stands before the environment.
  const Options defaults(dsn.names_service ? nullptr : PQconndefaults());
  const auto value = [&](std::string_view keyword) {
    std::string found = ValueOf(given, keyword);
    return found.empty() ? ValueOf(defaults, keyword) : found;
  };
  dsn.options = value("options");
  if (absl::Status status = CheckRootCertificate(value("sslrootcert")); !status.ok()) return status;
  const std::string host = value("host");
  const std::string address = value("hostaddr");
  std::string port = ValueOf(given, "port");
  // One for all is taken by libpq itself.
  if (const std::string known = value("port"); absl::StrContains(known, ',')) port = known;
  const std::vector<std::string> hosts = ListOf(host);
  const std::vector<std::string> addresses = ListOf(address);
  const std::vector<std::string> ports = ListOf(port);
  if ((!host.empty() && !address.empty() && hosts.size() != addresses.size()) ||
      (ports.size() > 1 && ports.size() != std::max(hosts.size(), addresses.size()))) {
    return absl::InvalidArgumentError(
        "the connection string's lists of hosts, addresses and ports differ in length");
  }
  for (size_t i = 0; i < std::max(hosts.size(), addresses.size()); ++i) {
    dsn.hosts.push_back({.host = i < hosts.size() ? hosts[i] : "",
                         .address = i < addresses.size() ? addresses[i] : "",
                         .port = PortAt(ports, i)});
  }
  return dsn;
}

std::vector<std::string> KnownKeywords() {
  // URIs take `ssl`, and libpq makes it sslmode.
  std::vector<std::string> known = {"ssl"};
  const Options defaults(PQconndefaults());
  for (const PQconninfoOption* option = defaults.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    known.emplace_back(option->keyword);
  }
  return known;
}

std::vector<std::string> KeywordsIn(const std::string& text) {
  std::vector<std::string> keywords;
  if (text.find("://") != std::string::npos) {
    const size_t query = text.find('?');
    if (query == std::string::npos) return keywords;
    for (const absl::string_view pair : absl::StrSplit(text.substr(query + 1), '&')) {
      keywords.emplace_back(pair.substr(0, pair.find('=')));
    }
    return keywords;
  }
  constexpr const char* kBlank = " \t\r\n\v\f";
  for (size_t at = text.find_first_not_of(kBlank); at != std::string::npos;
       at = text.find_first_not_of(kBlank, at)) {
    const size_t equals = text.find('=', at);
    if (equals == std::string::npos) return keywords;
    const std::string keyword = text.substr(at, equals - at);
    keywords.push_back(keyword.substr(0, keyword.find_first_of(kBlank)));
    at = text.find_first_not_of(kBlank, equals + 1);
    if (at == std::string::npos) return keywords;
    const bool quoted = text[at] == '\'';
    if (quoted) ++at;
    const auto ends = [&](char c) {
      return quoted ? c == '\'' : std::string_view(kBlank).find(c) != std::string_view::npos;
    };
    while (at < text.size() && !ends(text[at])) at += text[at] == '\\' ? 2 : 1;
    ++at;
    if (at >= text.size()) return keywords;
  }
  return keywords;
}

bool HoldsPassword(const std::string& text) {
  const Options given = OptionsIn(text);
  return HoldsMisplacedPassword(text) || Find(given, "password") != nullptr ||
         Find(given, "sslpassword") != nullptr;
}

absl::Status CheckDsn(const std::string& text) {
  if (HoldsPassword(text)) {
    return absl::InvalidArgumentError(
        "dsn holds a password; put that into a password_file, or all of it into a dsn_file or an "
        "environment variable (dsn_env)");
  }
  const Options given = OptionsIn(text);
  if (given == nullptr) return NoDsn();
  return CheckRootCertificate(ValueOf(given, "sslrootcert"));
}

absl::StatusOr<std::string> WithPassword(const std::string& text, const std::string& password) {
  const Options given = OptionsIn(text);
  if (given == nullptr) return NoDsn();
  std::string pairs;
  for (const PQconninfoOption* option = given.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr || option->keyword == std::string_view("password")) continue;
    absl::StrAppend(&pairs, option->keyword, "=", Quoted(option->val), " ");
  }
  return absl::StrCat(pairs, "password=", Quoted(password));
}

}  // namespace headgate::dsn
