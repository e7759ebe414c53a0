// TwoServers: what a scenario with `servers: true` is played against. The first one is where
// clients are configured to ask; target t1 is the second one's, until somebody says otherwise.
//
// Both speak TLS. The folder gets ca.crt, and client.crt with client.key, which no server needs to
// see. Both certificates are good for 127.0.0.1; that of the first one also for first.example.
//
// Thread-compatible.
//
//   TwoServers servers(folder);
//   servers.Do("give first");  // "done"
#pragma once

#include <string>

#include "tests/serve/peers/peers_fixture.h"

namespace headgate::client {

class TwoServers {
 public:
  explicit TwoServers(const std::string& folder);

  // Of the first one.
  std::string address() { return servers_[0].address(); }

  // "asked": how many Checks and Reports the first server was asked, so far. "stop second": it
  // ends, and the first one owns its target. "start second": it is back, at another port, and owns
  // its target. "give first", "give second": the target is that one's. The answer is "done";
  // anything else is a mistake, and says so.
  std::string Do(const std::string& what);

 private:
  peers::Servers servers_{2};
};

}  // namespace headgate::client
