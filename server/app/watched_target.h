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
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "server/config/config.h"
#include "server/control/control_loop.h"
#include "server/engine/engine.h"
#include "server/health/health_changes.h"
#include "server/health/health_sink.h"
#include "server/health/monitor.h"
#include "server/health/snapshot.h"

namespace headgate::app {

class WatchedTarget final : public health::HealthSink {
 public:
  // Of the configuration's target at `place`. The engine and the clock outlive it.
  static std::shared_ptr<WatchedTarget> Start(const config::Config& config, size_t place,
                                              engine::Engine& engine, Clock& clock, uint64_t seed);
  ~WatchedTarget() override { Stop(); }

  const std::string& name() const { return settings_.name; }
  std::shared_ptr<health::CheckActivity> activity() const;
  health::TargetSnapshot Snapshot() const;

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

  WatchedTarget(const config::Config& config, size_t place, engine::Engine& engine, Clock& clock);

  static Connections ConnectionsOf(const config::TargetSettings& settings);
  health::MonitorSpec MonitorSpecOf(const config::Config& config, size_t place) const;
  health::MonitorProbes MakeProbes() const;

  control::ControlSpec ControlSpecOf(const config::Config& config, size_t place) const;
  // The engine goes on as if nothing had ever measured this target.
  void ForgetHealth();

  void OnHealth(std::string_view target, std::string_view profile, const engine::Health& health,
                Now now) override;
  void OnServer(std::string_view target, std::string_view server, const absl::Status& newest,
                Now now) override;

  const config::TargetSettings settings_;  // as it was started
  engine::Engine& engine_;
  Clock& clock_;
  health::HealthChanges changes_;                   // of the monitor's threads, one at a time
  std::unique_ptr<control::ControlLoop> control_;   // null: nothing is measured
  std::unique_ptr<health::TargetMonitor> monitor_;  // null: nothing is measured
};

}  // namespace headgate::app
