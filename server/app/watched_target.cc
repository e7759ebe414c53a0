#include "server/app/watched_target.h"

#include <algorithm>
#include <thread>

#include "server/app/connection_string.h"
#include "server/app/server_log.h"
#include "server/postgres/postgres_probe.h"

namespace headgate::app {

using control::ControlOptions;
using postgres::PostgresProbe;
using postgres::PostgresProbeOptions;
using postgres::ServerRole;

WatchedTarget::WatchedTarget(const config::Config& config, size_t place, engine::Engine& engine,
                             Clock& clock)
    : settings_(config.targets[place]), engine_(engine), clock_(clock) {}

std::shared_ptr<WatchedTarget> WatchedTarget::Start(const config::Config& config, size_t place,
                                                    engine::Engine& engine, Clock& clock,
                                                    uint64_t seed) {
  std::shared_ptr<WatchedTarget> target(new WatchedTarget(config, place, engine, clock));
  if (!target->settings_.primary.has_value()) {
    target->ForgetHealth();
    return target;
  }
  target->control_ =
      std::make_unique<control::ControlLoop>(target->ControlSpecOf(config, place), engine);
  target->monitor_ = std::make_unique<health::TargetMonitor>(
      target->MonitorSpecOf(config, place), target->MakeProbes(),
      health::MonitorOptions{
          .clock = &clock, .sink = target.get(), .work = target->control_.get(), .seed = seed});
  target->monitor_->Start();
  return target;
}

std::shared_ptr<health::CheckActivity> WatchedTarget::activity() const {
  return monitor_ == nullptr ? nullptr : monitor_->activity();
}

health::TargetSnapshot WatchedTarget::Snapshot() const {
  health::TargetSnapshot snapshot;
  snapshot.name = name();
  if (monitor_ == nullptr) return snapshot;
  snapshot = monitor_->Snapshot();
  snapshot.controllers = control_->Snapshot();
  return snapshot;
}

WatchedTarget::Connections WatchedTarget::ConnectionsOf(const config::TargetSettings& settings) {
  return {.primary = settings.primary,
          .standbys = settings.standby_sources,
          .roles = settings.batch_work.roles,
          .application_names = settings.batch_work.application_names,
          .timeout = settings.polling.timeout};
}

health::MonitorSpec WatchedTarget::MonitorSpecOf(const config::Config& config, size_t place) const {
  const config::TargetSettings& settings = config.targets[place];
  health::MonitorSpec spec{.target = settings.name,
                           .standbys = settings.standbys,
                           .polling = settings.polling,
                           .profiles = {}};
  for (size_t i = 0; i < config.profiles.size(); ++i) {
    spec.profiles.push_back({config.profiles[i], config.policy.profiles[i].signals});
  }
  return spec;
}

health::MonitorProbes WatchedTarget::MakeProbes() const {
  const auto probe = [&](const std::string& server, ServerRole role,
                         const config::PostgresSource& source) {
    return std::make_unique<PostgresProbe>(
        PostgresProbeOptions{.server = server,
                             .role = role,
                             .dsn = [source] { return ReadConnectionString(source); },
                             .timeout = settings_.polling.timeout,
                             .batch_work = settings_.batch_work},
        clock_);
  };
  health::MonitorProbes probes;
  probes.primary = probe("primary", ServerRole::kPrimary, *settings_.primary);
  for (size_t i = 0; i < settings_.standbys.size(); ++i) {
    const std::optional<config::PostgresSource>& source = settings_.standby_sources[i];
    if (!source.has_value()) continue;
    probes.standbys.push_back(probe(settings_.standbys[i].name, ServerRole::kStandby, *source));
  }
  return probes;
}

bool WatchedTarget::Reconfigure(const config::Config& config, size_t place) {
  if (ConnectionsOf(settings_) != ConnectionsOf(config.targets[place])) return false;
  if (monitor_ == nullptr) return true;
  control_->Reconfigure(ControlSpecOf(config, place));
  return monitor_->Reconfigure(MonitorSpecOf(config, place)).ok();
}

control::ControlSpec WatchedTarget::ControlSpecOf(const config::Config& config,
                                                  size_t place) const {
  control::ControlSpec spec{.target = name(), .budgets = {}, .options = {}};
  for (const config::AutoBudget& found : config.auto_budgets) {
    const auto budget =
        std::find_if(config.policy.budgets.begin(), config.policy.budgets.end(),
                     [&](const auto& candidate) { return candidate.name == found.budget; });
    if (budget == config.policy.budgets.end()) continue;
    const std::string& profile =
        budget->health.empty() ? config.policy.targets[place].default_health : budget->health;
    spec.budgets.push_back({found.budget, profile, found.weight});
    // One controller for all of them: the most careful of their wishes counts.
    ControlOptions& options = spec.options;
    const bool first = spec.budgets.size() == 1;
    const double cores =
        found.cores.value_or(static_cast<int>(std::thread::hardware_concurrency()));
    const double max_rate = found.max_rate.value_or(2 * cores);
    const auto careful = [first](double& option, double wish) {
      option = first ? wish : std::min(option, wish);
    };
    careful(options.tolerance, found.tolerance);
    careful(options.latency_tolerance, found.latency_tolerance);
    careful(options.tail_tolerance, found.tail_tolerance);
    careful(options.cores, cores);
    careful(options.max_rate, max_rate);
  }
  return spec;
}

void WatchedTarget::ForgetHealth() {
  const std::shared_ptr<const engine::Policy> policy = engine_.policy();
  const Now now = clock_.Read();
  for (const engine::HealthProfileSpec& profile : policy->profiles) {
    (void)engine_.SetHealth(name(), profile.name, engine::Health{}, now);
  }
}

void WatchedTarget::OnHealth(std::string_view target, std::string_view profile,
                             const engine::Health& health, Now now) {
  // A profile that a reload has just taken away is not found, and not missed.
  (void)engine_.SetHealth(target, profile, health, now);
  control_->OnHealth(profile, health, now);
  const auto before = changes_.OfProfile(profile, health.status, now);
  if (!before.has_value()) return;
  const LogField fields[] = {{"target", target},
                             {"profile", profile},
                             {"state", health::NameOf(health.status)},
                             {"before", health::NameOf(*before)}};
  const bool is_unknown = health.status == engine::HealthStatus::kStale ||
                          health.status == engine::HealthStatus::kWarming;
  if (is_unknown) {
    LogWarning("health changed", fields);
  } else {
    LogInfo("health changed", fields);
  }
}

void WatchedTarget::OnServer(std::string_view target, std::string_view server,
                             const absl::Status& newest, Now now) {
  if (!changes_.OfServer(server, newest.ok(), now)) return;
  if (newest.ok()) {
    LogInfo("PostgreSQL answers again", {{"target", target}, {"server", server}});
  } else {
    LogWarning("PostgreSQL does not answer",
               {{"target", target}, {"server", server}, {"why", std::string(newest.message())}});
  }
}

void WatchedTarget::Stop() {
  if (monitor_ != nullptr) monitor_->Stop();
}

}  // namespace headgate::app
