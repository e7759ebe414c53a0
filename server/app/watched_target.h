// One target that is measured: its monitor, the controller of its auto budgets, and where they send
// what they find: the engine, and of what changes the log.
//
// A target without a connection has neither; it is here so that status shows it, and so that what
// an earlier configuration measured is forgotten.
//
// Thread-safe, but for Reconfigure and Stop, which belong to one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/engine.h"
#include "server/govern/config/config.h"
#include "server/observe/control/control_loop.h"
#include "server/observe/health/health_changes.h"
#include "server/observe/health/health_sink.h"
#include "server/observe/health/monitor.h"
#include "server/observe/health/snapshot.h"
#include "server/share/cluster/offers.h"

namespace headgate::app {

class WatchedTarget final : public health::HealthSink {
 public:
  // Told how measuring a target goes: after each poll, and when it is asked for. It must be quick,
  // and not call the target back.
  using OnMeasured = std::function<void(const std::string& target, cluster::Measures measures,
                                        const std::string& why)>;
  // The engine and the clock outlive the target.
  struct Parts {
    engine::Engine& engine;
    Clock& clock;
    uint64_t seed = 0;
    OnMeasured on_measured = {};
    // Whether Checks wait for the target. Null: none ever does.
    std::function<bool()> is_awaited = nullptr;
  };
  // Of the configuration's target at `place`.
  static std::shared_ptr<WatchedTarget> Start(const config::Config& config, size_t place,
                                              const Parts& parts);
  // How measuring would go for a process that does not do it: asks each server once.
  static cluster::Offer Try(const config::TargetSettings& settings, Clock& clock);
  ~WatchedTarget() override { Stop(); }

  const std::string& name() const { return settings_.name; }
  std::shared_ptr<health::CheckActivity> activity() const;
  health::TargetSnapshot Snapshot() const;

  // For the target's next owner, and of its owner before.
  health::HandedSample Hand() const;
  void Adopt(const health::HandedSample& handed);
  // What the agent beside its database tells.
  void OnYielding(const control::Yielding& told, Now now);

  // Says how measuring goes, if that is known.
  void TellMeasured() ABSL_LOCKS_EXCLUDED(measured_mutex_);

  // False: its connections have changed, so another one has to be started. Nothing has changed
  // then.
  bool Reconfigure(const config::Config& config, size_t place);
  // The engine goes on with what was found last. Harmless if repeated.
  void Stop();

 private:
  // What cannot change without connecting anew.
  struct Connections {
    std::optional<config::PostgresSource> primary;
    std::vector<std::optional<config::PostgresSource>> standbys;
    std::vector<std::string> roles, application_names;
    absl::Duration timeout;

    friend bool operator==(const Connections&, const Connections&) = default;
  };

  // What is known of the newest polls.
  struct Measured {
    std::map<std::string, absl::Status, std::less<>> servers;  // that were polled
    std::set<std::string, std::less<>> warming;                // profiles without a verdict
  };

  WatchedTarget(const config::Config& config, size_t place, const Parts& parts);

  static Connections ConnectionsOf(const config::TargetSettings& settings);
  health::MonitorSpec MonitorSpecOf(const config::Config& config, size_t place) const;
  static health::MonitorProbes MakeProbes(const config::TargetSettings& settings, Clock& clock);

  control::ControlSpec ControlSpecOf(const config::Config& config, size_t place) const;
  // The engine goes on as if nothing had ever measured this target.
  void ForgetHealth();

  void OnHealth(std::string_view target, std::string_view profile, const engine::Health& health,
                Now now) override;
  // That a gate has shut or opened, or is shut by something else.
  void TellGate(std::string_view profile, const engine::Health& health, Now now);
  void OnServer(std::string_view target, std::string_view server, const absl::Status& newest,
                Now now) override;
  void OnNotes(std::string_view target, const std::vector<std::string>& notes, Now now) override;
  void OnNote(std::string_view target, std::string_view server, const std::string& note) override;

  const config::TargetSettings settings_;  // as it was started
  engine::Engine& engine_;
  Clock& clock_;
  const OnMeasured on_measured_;
  const size_t connections_;
  Mutex measured_mutex_;
  Measured measured_ ABSL_GUARDED_BY(measured_mutex_);
  health::HealthChanges changes_;  // of the monitor's threads, one at a time
  std::map<std::string, std::string, std::less<>> notes_;  // likewise, by server
  std::unique_ptr<control::ControlLoop> control_;          // null: nothing is measured
  std::unique_ptr<health::TargetMonitor> monitor_;         // null: nothing is measured
};

}  // namespace headgate::app
