// A PostgreSQL connection string. libpq's own parser reads it, here and nowhere else, so that the
// check of a configuration and the one who connects can't take a string differently.
//
// No error shows any of the text, since that may hold a password.
//
// Pure functions.
//
//   absl::StatusOr<Dsn> dsn = ParseDsn("host=a,b port=5432 user=headgate");
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headgate::dsn {

// Taken apart so that its hosts can be looked up and tried one by one. Left to itself libpq looks
// hosts up without a limit, and spends all the time there is on the first address that does not
// answer.
struct Dsn {
  struct Host {
    std::string host;     // a name, an address, or a folder of Unix sockets; may be empty
    std::string address;  // hostaddr; empty unless it was given
    std::string port;     // empty: the default

    // Whether `host` has to be looked up.
    bool needs_lookup() const;
  };

  std::vector<Host> hosts;  // at least one
  std::string application_name;
  std::string options;  // for the server's command line; what PGOPTIONS has if none are given
  bool names_service = false;                               // whose parameters libpq alone knows
  std::vector<std::pair<std::string, std::string>> others;  // without what who connects decides
};

// Both forms that libpq takes, key=value pairs and a URI. Hosts, addresses and ports that are not
// given come from the environment, as libpq takes them, lists included. Errors: InvalidArgument;
// also for what this machine's libpq is too old for, which it would say less clearly.
absl::StatusOr<Dsn> ParseDsn(const std::string& text);

// Words that stand before a '=', or in a URI's query, in their order; as far as the text can be
// taken apart. None of a URI's user, password and host are among them.
std::vector<std::string> KeywordsIn(const std::string& text);
// Those that libpq takes.
std::vector<std::string> KnownKeywords();

// Whether anybody who reads the text reads a password, maybe one that libpq takes for a port or a
// database.
bool HoldsPassword(const std::string& text);

// InvalidArgument if it is no connection string, holds a password, or asks for what this machine's
// libpq is too old for.
absl::Status CheckDsn(const std::string& text);

// The same connection string as key=value pairs, with this password. InvalidArgument if it is none.
absl::StatusOr<std::string> WithPassword(const std::string& text, const std::string& password);

}  // namespace headgate::dsn
