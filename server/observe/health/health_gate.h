// HealthGate: whether the gate of one health profile is open or shut, and at which speed work
// passes, from the readings of a target's servers.
//
//   pressure of an instance = (value - soft) / (hard - soft), not below 0, not capped above
//   target speed            = 1 - worst pressure, not below min_speed; 0 from pressure 1 on
//   speed                   falls to the target at once, rises to it by 1 in `recovery`
//
// The gate is shut as long as the worst pressure is 1 or more. It reopens at min_speed and the
// speed climbs from there, so that a signal that hovers around `hard` lets little work through. An
// interval counts for the climb only if the sample at its beginning allowed it. The first complete
// sample after the start sets the speed without a climb.
//
// Each instance that counts is in one of these states:
// - *read*: its server's newest sample is not stale. An expected standby that the primary does not
//   see has infinite pressure: it is unhealthy, whatever on_stale says, and never "lag 0".
// - *blind*: its server was never sampled, its server's newest sample is stale, or the value could
//   not be read. on_stale applies, on top of what the instances that are read say. A server that
//   can't be polled makes its own instances blind and no others.
// - *pending*: its server was sampled, but not yet asked for it, because the profile has just been
//   changed; or it is a rate that takes a second sample. It does not count, unless the whole
//   profile is pending, which is warming.
// Instances on a standby that is set aside do not count until its expiry, by wall time; nothing
// else here depends on wall time.
//
// A profile's sample is as old as that of the oldest server that it needs. A profile for which
// nothing counts is unmonitored and runs in real time.
//
// Thread-compatible; reads no clock. Times are monotonic nanoseconds.
//
//   HealthGate gate(profile, standbys);
//   const HealthGate::Verdict& verdict = gate.Update(sample, clock.Read());
//   sink.OnHealth(target, profile.spec.name, verdict.health, now);

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/decide/engine/virtual_clock.h"
#include "server/observe/health/monitor_spec.h"
#include "server/observe/health/probe.h"

namespace headgate::health {

// What is known of a target's servers.
struct TargetSample {
  struct Server {
    int64_t sampled_at_ns = 0;      // start of the newest complete poll; 0: none yet
    int64_t grace_ns = 0;           // by how much the next poll was planned later than usual
    int64_t next_sample_at_ns = 0;  // when the next poll should be complete
  };
  struct Instance {
    Reading reading;
    int64_t sampled_at_ns = 0;
    int64_t next_sample_at_ns = 0;  // no reading before that; 0: with the server's next sample
    bool is_handed = false;         // by another process, whose value stands in for the first
  };
  std::vector<Server> servers;  // the primary, then the standbys that have a connection, in order
  absl::flat_hash_map<std::string, Instance> instances;  // those that were asked for, by name
};

class HealthGate {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Verdict {
    engine::Health health;
    std::string signal;  // the binding instance; empty for none
    // From then on the verdict is another one, if there is no new sample before.
    int64_t valid_until_ns = kNever;
    int64_t since_ns = 0;  // that its condition (condition.h) is of the same kind; 0: never judged
  };

  HealthGate(const WatchedProfile& profile, absl::Span<const StandbySpec> standbys);

  // Takes over the speed of the same profile before a change of its configuration.
  void Resume(const HealthGate& before);

  // Times must not run backwards from call to call. `sample` has all connected servers.
  const Verdict& Update(const TargetSample& sample, Now now);

  const std::string& profile() const { return spec_.name; }
  const Verdict& verdict() const { return verdict_; }

 private:
  struct Instance {
    std::string name;
    size_t server = 0;  // in TargetSample::servers
    double soft = 0;
    double hard = 1;
    bool infinite_if_absent = false;
    absl::Time set_aside_until = absl::InfinitePast();
    int16_t signal = -1;  // engine::Health::signal
  };
  // What a look at one instance finds, and at all.
  struct Look;
  struct Findings;

  void AddInstance(const SignalSpec& signal, size_t server, const StandbySpec* standby,
                   const std::vector<std::string>& engine_signals);
  static Look LookAt(const Instance& instance, const TargetSample& sample, bool stale);
  Findings Examine(const TargetSample& sample, Now now) const;
  double SpeedUnder(double pressure) const;
  double Target(const Findings& found) const;
  void MoveSpeed(const Findings& found, int64_t now_ns);
  const Instance* Binding(const Findings& found) const;
  void NameSignal(const Findings& found);

  ProfileSpec spec_;
  std::vector<Instance> instances_;
  double speed_ = 0;
  bool settled_ = false;  // from the first complete sample on the speed climbs
  bool rising_ = false;   // the last sample allowed more than speed_
  int64_t updated_at_ns_ = 0;
  Verdict verdict_;
};

}  // namespace headgate::health
