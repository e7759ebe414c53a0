// A StatusSource that says what a test sets, whenever it sets it.
//
// Thread-safe, value by value.
//
//   FakeStatus status;
//   status.overrides = {.is_kept = true, .in_force = 2};

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/serve/rpc/sources.h"

namespace headgate {

template <typename T>
class Settable {
 public:
  explicit Settable(T value = T()) : value_(std::move(value)) {}
  Settable& operator=(T value) {
    MutexLock lock(&mutex_);
    value_ = std::move(value);
    return *this;
  }
  T Get() const {
    MutexLock lock(&mutex_);
    return value_;
  }

 private:
  mutable Mutex mutex_;
  T value_ ABSL_GUARDED_BY(mutex_);
};

class FakeStatus final : public rpc::StatusSource {
 public:
  absl::Time StartedAt() const override { return started_at.Get(); }
  config::LoadStatus Config() const override { return config.Get(); }
  std::shared_ptr<const config::Config> InForce() const override { return in_force.Get(); }
  std::vector<health::TargetSnapshot> Targets() const override { return targets.Get(); }
  std::vector<agents::AgentView> Agents() const override { return agents.Get(); }
  throttle_log::ThrottleLogSnapshot ThrottleLog() const override { return throttle_log.Get(); }
  overrides::OverridesSnapshot Overrides() const override { return overrides.Get(); }
  snapshot::SnapshotView Snapshot() const override { return snapshot.Get(); }
  access::AccessSnapshot Access() const override { return access.Get(); }
  std::vector<std::string> Warnings() const override { return warnings.Get(); }

  Settable<absl::Time> started_at{absl::FromUnixSeconds(1'767'225'600)};
  Settable<config::LoadStatus> config;
  Settable<std::shared_ptr<const config::Config>> in_force;
  Settable<std::vector<health::TargetSnapshot>> targets;
  Settable<std::vector<agents::AgentView>> agents;
  Settable<throttle_log::ThrottleLogSnapshot> throttle_log;
  Settable<overrides::OverridesSnapshot> overrides;
  Settable<snapshot::SnapshotView> snapshot;
  Settable<access::AccessSnapshot> access;
  Settable<std::vector<std::string>> warnings;
};

}  // namespace headgate
