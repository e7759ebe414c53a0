// A libpq connection string, taken apart so that its hosts can be looked up and tried one by one.
//
// Left to itself libpq looks hosts up without a limit, and spends all the time there is on the
// first address that does not answer.
//
// Pure functions.
//
//   absl::StatusOr<Dsn> dsn = ParseDsn("host=a,b port=5432 user=headgate");
#ifndef HEADGATE_SERVER_POSTGRES_DSN_H_
#define HEADGATE_SERVER_POSTGRES_DSN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace headgate::postgres {

struct Dsn {
  struct Host {
    std::string host;     // a name, an address, or a folder of Unix sockets; may be empty
    std::string address;  // hostaddr; empty unless it was given
    std::string port;     // empty: the default

    // Whether `host` has to be looked up.
    bool needs_lookup() const;
  };

  std::vector<Host> hosts;  // at least one
  std::vector<std::pair<std::string, std::string>> others;
};

// Both forms that libpq takes, key=value pairs and a URI. A host that is not given comes from the
// environment, as libpq takes it. InvalidArgument without any of the text, since that may hold a
// password.
absl::StatusOr<Dsn> ParseDsn(const std::string& text);

}  // namespace headgate::postgres

#endif  // HEADGATE_SERVER_POSTGRES_DSN_H_
