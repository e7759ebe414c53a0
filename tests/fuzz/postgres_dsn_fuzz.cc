// Any text as a PostgreSQL connection string, to the configuration's look at it and to the one that
// takes it apart: no password passes the first, no error shows any of the text, and every host that
// comes out of the second is one that stood in it.
#include <cstdint>
#include <set>
#include <string>

#include "server/config/dsn.h"
#include "server/postgres/dsn.h"
#include "tests/fuzz/require.h"

namespace {

using headgate::fuzz::Require;
using headgate::fuzz::RequireReadable;
using headgate::postgres::Dsn;

// One of the few sentences that there are, whatever was given: none of it may be shown.
void RequireSaysNothing(const absl::Status& status) {
  RequireReadable(status);
  static const auto* const sentences = new std::set<std::string>{
      std::string(headgate::config::CheckDsn("password=x").message()),
      std::string(headgate::config::CheckDsn("x").message()),
      std::string(headgate::postgres::ParseDsn("x").status().message()),
      std::string(headgate::postgres::ParseDsn("host=a,b port=1,2,3").status().message()),
  };
  Require(sentences->count(std::string(status.message())) == 1, "it says ", status.ToString());
}

bool HasPassword(const Dsn& dsn) {
  for (const auto& [keyword, value] : dsn.others) {
    if ((keyword == "password" || keyword == "sslpassword") && !value.empty()) return true;
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::Status checked = headgate::config::CheckDsn(text);
  if (!checked.ok()) RequireSaysNothing(checked);
  // Libpq reads to the first NUL, which no configuration holds.
  const std::string whole = text.substr(0, text.find('\0'));
  const absl::StatusOr<Dsn> parsed = headgate::postgres::ParseDsn(whole);
  if (!parsed.ok()) {
    RequireSaysNothing(parsed.status());
    return 0;
  }
  RequireWhole(*parsed);
  if (whole == text && checked.ok()) Require(!HasPassword(*parsed), "a password passed: ", text);
  return 0;
}
