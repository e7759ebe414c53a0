// What was measured of a target last, as its owner hands it to the next one.
//
// The next owner goes on with it until it has measured the target itself: a sample counts for as
// long as it is not stale, whoever took it. Ages are spans by the owner's clock, so that where the
// clocks of two servers stand does not matter.
//
// Plain data, thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/observe/health/probe.h"

namespace headgate::health {

struct HandedSample {
  struct Server {
    std::string name;  // "primary", or the standby's
    int64_t age_ns = 0;
  };
  struct Instance {
    Reading reading;
    int64_t age_ns = 0;
  };
  std::vector<Server> servers;
  std::vector<Instance> instances;

  bool empty() const { return servers.empty(); }
};

}  // namespace headgate::health
