// What a TargetMonitor watches: the parts of the configuration that concern one target.
//
// Plain data, thread-compatible.

#pragma once

#include <string>
#include <vector>

#include "server/observe/health/profile.h"

namespace headgate::health {

struct WatchedProfile {
  ProfileSpec spec;
  // The profile's signals as the engine knows them; engine::Health::signal is an index into it.
  // Empty: the instances on this target alone.
  std::vector<std::string> signals;
};

struct MonitorSpec {
  std::string target;
  std::vector<StandbySpec> standbys;
  PollingSpec polling;
  std::vector<WatchedProfile> profiles;
};

}  // namespace headgate::health
