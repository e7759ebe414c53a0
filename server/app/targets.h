// Targets: the monitors and controllers of all targets, as the configuration in force has them.
//
// What a monitor finds goes to the engine; that somebody asks goes to the monitors. A target whose
// connections stay the same keeps its monitor over a reload, with all that it knows.
//
// Where several servers share the targets each measures those that it owns, and the others cost
// their databases nothing.
//
// Thread-safe, but for Apply and Stop, which belong to one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
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
  // From now on only those are measured that SetOwned says. Before Apply.
  void OwnNone() ABSL_LOCKS_EXCLUDED(apply_mutex_);

  // After the engine has installed the configuration's policy.
  void Apply(const config::Config& config) ABSL_LOCKS_EXCLUDED(apply_mutex_, mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether this server decides for a target, and so measures it: from Settle on, which waits for
  // polls of what is measured no longer, and does nothing where nothing has changed. May be called
  // by several threads.
  void SetOwned(std::string_view target, bool owned) ABSL_LOCKS_EXCLUDED(owned_mutex_);
  void Settle() ABSL_LOCKS_EXCLUDED(apply_mutex_, owned_mutex_, mutex_);

  void OnCheck(std::string_view target) override { activity_.OnCheck(target); }

  // One for each target of the configuration, in its order.
  std::vector<health::TargetSnapshot> Snapshots() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::vector<std::shared_ptr<WatchedTarget>> Current() const ABSL_LOCKS_EXCLUDED(mutex_);
  void Install(const config::Config& config) ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The configuration without connections to what this server does not own.
  config::Config OfOwned() ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mutex_)
      ABSL_LOCKS_EXCLUDED(owned_mutex_);

  engine::Engine& engine_;
  Clock& clock_;
  const uint64_t seed_;
  health::CheckActivityBook activity_;
  Mutex apply_mutex_;  // held while targets are started and stopped
  // Of a server that shares its targets; else nothing: it measures all.
  std::optional<config::Config> shared_ ABSL_GUARDED_BY(apply_mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(apply_mutex_) = false;
  Mutex owned_mutex_;
  std::set<std::string, std::less<>> owned_ ABSL_GUARDED_BY(owned_mutex_);
  bool is_settled_ ABSL_GUARDED_BY(owned_mutex_) = true;  // what is measured is what is owned
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<WatchedTarget>> targets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::app
