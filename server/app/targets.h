// Targets: the monitors and controllers of all targets, as the configuration in force has them.
//
// What a monitor finds goes to the engine; that somebody asks goes to the monitors. A target whose
// connections stay the same keeps its monitor over a reload, with all that it knows.
//
// Where several servers share the targets each measures those that it owns, or is about to, and the
// others cost their databases nothing.
//
// Thread-safe, but for Apply and Stop, which belong to one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/app/watched_target.h"
#include "server/decide/engine/engine.h"
#include "server/govern/config/config.h"
#include "server/observe/health/check_activity.h"
#include "server/observe/health/snapshot.h"
#include "server/serve/rpc/sources.h"

namespace headgate::app {

class Targets final : public rpc::CheckListener {
 public:
  // Both outlive this.
  Targets(engine::Engine& engine, Clock& clock, uint64_t seed)
      : engine_(engine), clock_(clock), seed_(seed) {}
  // Who knows whether Checks wait for a target: it is measured as often as if they came just now.
  // Thread-safe, and outlives Stop. Before Apply.
  using IsAwaited = std::function<bool(std::string_view target)>;
  void SetAwaited(IsAwaited is_awaited) ABSL_LOCKS_EXCLUDED(apply_mutex_);
  // From now on only those are measured that SetMeasured says, and `on_measured` is told how that
  // goes. Before Apply.
  void MeasureNone(WatchedTarget::OnMeasured on_measured) ABSL_LOCKS_EXCLUDED(apply_mutex_);

  // After the engine has installed the configuration's policy.
  void Apply(const config::Config& config) ABSL_LOCKS_EXCLUDED(apply_mutex_, shared_mutex_, mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether this server measures a target, since it decides for it or is about to: from Settle on,
  // which waits for polls of what is measured no longer, and does nothing where nothing has
  // changed. May be called by several threads; SetMeasured does not wait.
  void SetMeasured(std::string_view target, bool measured) ABSL_LOCKS_EXCLUDED(measured_mutex_);
  void Settle() ABSL_LOCKS_EXCLUDED(apply_mutex_, measured_mutex_, mutex_);
  // How well a target could be measured that is not, perhaps: asks each of its servers once, which
  // takes as long as polls may. NotFound: it is not configured.
  absl::StatusOr<cluster::Offer> Try(std::string_view target) ABSL_LOCKS_EXCLUDED(shared_mutex_);

  // Whether this server measures it now.
  bool Measures(std::string_view target) const ABSL_LOCKS_EXCLUDED(mutex_);
  // What was measured of a target, for its next owner, and by its owner before.
  health::HandedSample Hand(std::string_view target) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Adopt(std::string_view target, const health::HandedSample& handed)
      ABSL_LOCKS_EXCLUDED(mutex_);

  void OnCheck(std::string_view target) override { activity_.OnCheck(target); }
  // What the agent beside the target's database tells, for its auto budgets.
  void OnYielding(std::string_view target, const control::Yielding& told, Now now)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // One for each target of the configuration, in its order.
  std::vector<health::TargetSnapshot> Snapshots() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::vector<std::shared_ptr<WatchedTarget>> Current() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: it is not configured.
  std::shared_ptr<WatchedTarget> Find(std::string_view target) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Install(const config::Config& config) ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The configuration without connections to what this server does not measure.
  config::Config OfMeasured() ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mutex_)
      ABSL_LOCKS_EXCLUDED(measured_mutex_);
  // Says of all that are measured how that goes.
  void TellMeasured() ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mutex_)
      ABSL_LOCKS_EXCLUDED(measured_mutex_, mutex_);

  engine::Engine& engine_;
  Clock& clock_;
  const uint64_t seed_;
  health::CheckActivityBook activity_;
  Mutex apply_mutex_;  // held while targets are started and stopped
  IsAwaited is_awaited_ ABSL_GUARDED_BY(apply_mutex_);
  // Of a server that shares its targets; else nothing: it measures all.
  std::optional<config::Config> shared_ ABSL_GUARDED_BY(apply_mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(apply_mutex_) = false;
  // The same targets as shared_, for who cannot wait for Install.
  Mutex shared_mutex_;
  std::vector<config::TargetSettings> all_ ABSL_GUARDED_BY(shared_mutex_);
  WatchedTarget::OnMeasured on_measured_ ABSL_GUARDED_BY(apply_mutex_);
  Mutex measured_mutex_;
  std::set<std::string, std::less<>> measured_ ABSL_GUARDED_BY(measured_mutex_);
  bool is_settled_ ABSL_GUARDED_BY(measured_mutex_) = true;  // Install has followed
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<WatchedTarget>> targets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::app
