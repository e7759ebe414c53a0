// Targets: the monitors and controllers of all targets, as the configuration in force has them.
//
// What a monitor finds goes to the engine; that somebody asks goes to the monitors. A target whose
// connections stay the same keeps its monitor over a reload, with all that it knows.
//
// Thread-safe, but for Apply and Stop, which belong to one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/app/watched_target.h"
#include "server/config/config.h"
#include "server/engine/engine.h"
#include "server/health/check_activity.h"
#include "server/health/snapshot.h"
#include "server/rpc/sources.h"

namespace headgate::app {

class Targets final : public rpc::CheckListener {
 public:
  // Both outlive this.
  Targets(engine::Engine& engine, Clock& clock, uint64_t seed)
      : engine_(engine), clock_(clock), seed_(seed) {}

  // After the engine has installed the configuration's policy.
  void Apply(const config::Config& config) ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  void OnCheck(std::string_view target) override { activity_.OnCheck(target); }

  // One for each target of the configuration, in its order.
  std::vector<health::TargetSnapshot> Snapshots() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::vector<std::shared_ptr<WatchedTarget>> Current() const ABSL_LOCKS_EXCLUDED(mutex_);

  engine::Engine& engine_;
  Clock& clock_;
  const uint64_t seed_;
  health::CheckActivityBook activity_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<WatchedTarget>> targets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::app
