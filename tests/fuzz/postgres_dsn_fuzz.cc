// Any text as a PostgreSQL connection string, and its reverse as the password that a file may hold:
// no password passes the configuration's check, no error shows any of the text, and one who
// connects gets that password as it is, and everything else as it was without one.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "server/observe/dsn/dsn.h"
#include "tests/fuzz/require.h"

namespace {

using headgate::dsn::Dsn;
using headgate::fuzz::Require;
using headgate::fuzz::RequireReadable;

// One of the few sentences that there are, whatever was given: none of it may be shown.
void RequireSaysNothing(const absl::Status& status) {
  RequireReadable(status);
  static const auto* const sentences = new std::set<std::string>{
      std::string(headgate::dsn::CheckDsn("password=x").message()),
      std::string(headgate::dsn::CheckDsn("x").message()),
      std::string(headgate::dsn::ParseDsn("x").status().message()),
      std::string(headgate::dsn::ParseDsn("host=a,b port=1,2,3").status().message()),
  };
  Require(sentences->count(std::string(status.message())) == 1, "it says ", status.ToString());
}

bool HasPassword(const Dsn& dsn) {
  for (const auto& [keyword, value] : dsn.others) {
    if (keyword == "password" || keyword == "sslpassword") return true;
  }
  return false;
}

void RequireWhole(const Dsn& dsn) {
  Require(!dsn.hosts.empty(), "nowhere to connect to");
  for (const Dsn::Host& host : dsn.hosts) {
    Require(!host.needs_lookup() || !host.host.empty(), "a look-up of nothing");
    Require(!host.needs_lookup() || host.address.empty(), "a look-up of what is known");
  }
  for (const auto& [keyword, value] : dsn.others) {
    Require(keyword != "host" && keyword != "hostaddr" && keyword != "port" &&
                keyword != "connect_timeout" && keyword != "application_name",
            "what the room sets itself was passed on: ", keyword);
    Require(value.find('\0') == std::string::npos, "a value that libpq would cut");
  }
}

void RequireSame(const Dsn& a, const Dsn& b) {
  Require(a.hosts.size() == b.hosts.size() && a.application_name == b.application_name,
          "a password changed where to connect");
  for (size_t i = 0; i < a.hosts.size(); ++i) {
    Require(a.hosts[i].host == b.hosts[i].host && a.hosts[i].address == b.hosts[i].address &&
                a.hosts[i].port == b.hosts[i].port,
            "a password changed a host: ", b.hosts[i].host);
  }
  Require(std::is_permutation(a.others.begin(), a.others.end(), b.others.begin(), b.others.end()),
          "a password changed what else is said");
}

void RequireTakesPassword(const std::string& text, Dsn parsed) {
  const std::string password(text.rbegin(), text.rend());
  const absl::StatusOr<std::string> with = headgate::dsn::WithPassword(text, password);
  Require(with.ok(), "no place for a password in ", text);
  const absl::StatusOr<Dsn> parsed_with = headgate::dsn::ParseDsn(*with);
  Require(parsed_with.ok(), "a password spoilt ", text, ": ", *with);
  parsed.others.emplace_back("password", password);
  RequireSame(parsed, *parsed_with);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::Status checked = headgate::dsn::CheckDsn(text);
  if (!checked.ok()) RequireSaysNothing(checked);
  const absl::StatusOr<Dsn> parsed = headgate::dsn::ParseDsn(text);
  if (!parsed.ok()) {
    RequireSaysNothing(parsed.status());
    return 0;
  }
  RequireWhole(*parsed);
  if (!checked.ok()) return 0;
  Require(!HasPassword(*parsed), "a password passed: ", text);
  RequireTakesPassword(text, *parsed);
  return 0;
}
