// Specs in one line each, for the tests of this folder.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/observe/health/monitor_spec.h"
#include "server/observe/health/profile.h"

namespace headgate::health {

inline SignalSpec Signal(std::string name, Scope scope, double soft, double hard) {
  SignalSpec signal;
  signal.name = std::move(name);
  signal.scope = scope;
  signal.soft = soft;
  signal.hard = hard;
  return signal;
}

inline WatchedProfile Profile(std::string name, std::vector<SignalSpec> signals) {
  WatchedProfile profile;
  profile.spec.name = std::move(name);
  profile.spec.signals = std::move(signals);
  return profile;
}

// Seen through the primary only.
inline StandbySpec Standby(std::string name, std::string application_name) {
  StandbySpec standby;
  standby.name = std::move(name);
  standby.application_name = std::move(application_name);
  return standby;
}

inline StandbySpec ConnectedStandby(std::string name, std::string application_name) {
  StandbySpec standby = Standby(std::move(name), std::move(application_name));
  standby.has_connection = true;
  return standby;
}

}  // namespace headgate::health
