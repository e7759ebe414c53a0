// What is known of a target at one moment, for status pages.
//
// Plain data, thread-compatible. Times are monotonic, as Clock::Read gives them; 0 is never.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::health {

struct ServerSnapshot {
  std::string name;  // "primary", or the standby's
  bool reachable = false;
  std::string error;  // what the last poll said, if it failed
  int64_t sampled_at_ns = 0;
  absl::Duration poll_time;      // of the last poll
  absl::Duration poll_interval;  // at present
  absl::Time set_aside_until = absl::InfinitePast();
  std::string note = {};  // what is worth knowing of its connection; empty: nothing
};

struct SignalSnapshot {
  std::string instance;
  std::optional<double> value;
  std::string error;
  int64_t sampled_at_ns = 0;
};

struct ProfileSnapshot {
  std::string profile;
  engine::Health health;
  std::string signal;    // the binding one's instance; empty for none
  int64_t since_ns = 0;  // that its condition is of the same kind
};

// What batch work does to the foreground in one respect, as shares.
struct EffectSnapshot {
  std::string kind;  // "throughput", "latency" or "tail"
  double effect = 0;
  double uncertainty = 0;
  double tolerance = 0;
  bool known = false;  // it was measured lately
  bool binds = false;  // it keeps the rate from being higher
};

struct ControllerSnapshot {
  std::string budget;
  std::string phase;                         // "rest", "idle", "work", "pause" or "blind"
  double rate = 0;                           // busy seconds a second
  double foreground_alone = 0;               // transactions a second
  double foreground_with_batch = 0;          // transactions a second
  std::vector<EffectSnapshot> effects = {};  // empty: there is no foreground
  std::string explanation;  // what keeps the rate from being higher, and what cannot be seen
};

struct TargetSnapshot {
  std::string name;
  std::vector<ServerSnapshot> servers;
  std::vector<SignalSnapshot> signals;
  std::vector<ProfileSnapshot> profiles;
  std::vector<ControllerSnapshot> controllers;
  std::vector<std::string> notes;  // what operators should mend so that readings mean what they say
};

}  // namespace headgate::health
