// What an operator says about health: which signals a profile watches, and what they may be.
//
// A *signal* is something that can be measured, such as replication_lag_seconds. A *signal
// instance* is one on a certain server, and is what readings, answers and logs name:
// "replication_lag_seconds on standby-2", or just "active_backends" where only the primary has it.
//
// Plain data, thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::health {

// Where a signal is read, and how many instances it has.
enum class Scope : uint8_t {
  kPrimary,           // one instance, asked on the primary
  kStandbyOnPrimary,  // one for each expected standby, asked on the primary
  kStandby,           // one for each standby that has a connection, asked there
};

struct SignalSpec {
  std::string name;
  Scope scope = Scope::kPrimary;
  double soft = 0;                              // in the signal's own unit; pressure 0
  double hard = 1;                              // above soft; pressure 1
  std::string sql;                              // of a custom signal; empty: built in
  absl::Duration every = absl::ZeroDuration();  // zero: at every poll
};

// What a profile does without a recent sample.
struct OnStale {
  bool shut = true;  // shut the gate
  double speed = 0;  // else this speed, 0 to 1
};

struct ProfileSpec {
  std::string name;
  std::vector<SignalSpec> signals;
  double min_speed = 0.05;                        // left just below a hard threshold
  absl::Duration recovery = absl::Seconds(10);    // from speed 0 to 1, once pressure is gone
  absl::Duration stale_after = absl::Seconds(5);  // a sample older than this is stale
  OnStale on_stale;
};

struct StandbySpec {
  std::string name = {};  // in signal instances
  // In the primary's pg_stat_replication: the row that has all of these, but for those that are
  // empty. The slot is that of its sender.
  std::string application_name = {};
  std::string client_address = {};
  std::string slot = {};
  bool is_cascading = false;                          // it streams from another standby
  bool has_connection = false;                        // it can be asked itself
  absl::Time set_aside_until = absl::InfinitePast();  // until then it does not count
  std::string set_aside_reason = {};
};

struct PollingSpec {
  absl::Duration interval = absl::Milliseconds(500);
  absl::Duration timeout = absl::Seconds(1);  // a poll is given up and its connection closed
  absl::Duration idle_after = absl::Minutes(1);
  absl::Duration idle_interval = absl::Seconds(10);
};

// Which sessions are batch work; any match suffices. '*' at the end of an application name matches
// any rest.
struct BatchWorkSpec {
  std::vector<std::string> roles;
  std::vector<std::string> application_names;
};

}  // namespace headgate::health
