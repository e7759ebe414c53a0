#include "server/app/watched_target.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/app/connection_string.h"
#include "server/app/server_log.h"
#include "server/decide/engine/policy.h"
#include "server/observe/postgres/postgres_probe.h"

namespace headgate::app {

using control::ControlOptions;
using postgres::PostgresProbe;
using postgres::PostgresProbeOptions;
using postgres::ServerRole;

namespace {

constexpr std::string_view kPrimary = "primary";

size_t ConnectionsIn(const config::TargetSettings& settings) {
  const auto has_one = [](const auto& source) { return source.has_value(); };
  return 1 + static_cast<size_t>(std::ranges::count_if(settings.standby_sources, has_one));
}

}  // namespace

WatchedTarget::WatchedTarget(const config::Config& config, size_t place, const Parts& parts)
    : settings_(config.targets[place]),
      engine_(parts.engine),
      clock_(parts.clock),
      on_measured_(parts.on_measured),
      connections_(ConnectionsIn(settings_)) {}

std::shared_ptr<WatchedTarget> WatchedTarget::Start(const config::Config& config, size_t place,
                                                    const Parts& parts) {
  std::shared_ptr<WatchedTarget> target(new WatchedTarget(config, place, parts));
  if (!target->settings_.primary.has_value()) {
    target->ForgetHealth();
    return target;
  }
  target->control_ =
      std::make_unique<control::ControlLoop>(target->ControlSpecOf(config, place), parts.engine);
  target->monitor_ = std::make_unique<health::TargetMonitor>(
      target->MonitorSpecOf(config, place), MakeProbes(target->settings_, parts.clock),
      health::MonitorOptions{.clock = &parts.clock,
                             .sink = target.get(),
                             .work = target->control_.get(),
                             .seed = parts.seed,
                             .is_awaited = parts.is_awaited});
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

health::HandedSample WatchedTarget::Hand() const {
  return monitor_ == nullptr ? health::HandedSample() : monitor_->Hand();
}

void WatchedTarget::Adopt(const health::HandedSample& handed) {
  if (monitor_ != nullptr) monitor_->Adopt(handed);
}

void WatchedTarget::OnYielding(const control::Yielding& told, Now now) {
  if (control_ != nullptr) control_->OnYielding(told, now);
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

health::MonitorProbes WatchedTarget::MakeProbes(const config::TargetSettings& settings,
                                                Clock& clock) {
  const auto position =
      ConnectionsIn(settings) > 1 ? std::make_shared<postgres::PrimaryPosition>() : nullptr;
  const auto probe = [&](const std::string& server, ServerRole role,
                         const config::PostgresSource& source) {
    return std::make_unique<PostgresProbe>(
        PostgresProbeOptions{.server = server,
                             .role = role,
                             .dsn = [source] { return ReadConnectionString(source); },
                             .timeout = settings.polling.timeout,
                             .batch_work = settings.batch_work,
                             .position = position},
        clock);
  };
  health::MonitorProbes probes;
  probes.primary = probe(std::string(kPrimary), ServerRole::kPrimary, *settings.primary);
  for (size_t i = 0; i < settings.standbys.size(); ++i) {
    const std::optional<config::PostgresSource>& source = settings.standby_sources[i];
    if (!source.has_value()) continue;
    probes.standbys.push_back(probe(settings.standbys[i].name, ServerRole::kStandby, *source));
  }
  return probes;
}

cluster::Offer WatchedTarget::Try(const config::TargetSettings& settings, Clock& clock) {
  if (!settings.primary.has_value()) return {.measures = cluster::Measures::kAll};
  const health::MonitorProbes probes = MakeProbes(settings, clock);
  absl::Status status = probes.primary->Poll({}).status();
  if (!status.ok()) {
    return {.measures = cluster::Measures::kNothing, .why = std::string(status.message())};
  }
  for (const auto& standby : probes.standbys) {
    status = standby->Poll({}).status();
    if (status.ok()) continue;
    return {.measures = cluster::Measures::kPartly, .why = std::string(status.message())};
  }
  return {.measures = cluster::Measures::kAll};
}

void WatchedTarget::TellMeasured() {
  if (!on_measured_ || monitor_ == nullptr) return;
  cluster::Measures measures = cluster::Measures::kAll;
  std::string why;
  {
    const MutexLock lock(&measured_mutex_);
    const auto primary = measured_.servers.find(kPrimary);
    if (primary == measured_.servers.end()) return;
    if (!primary->second.ok()) {
      measures = cluster::Measures::kNothing;
      why = std::string(primary->second.message());
    } else if (measured_.servers.size() < connections_) {
      return;
    }
    for (const auto& [server, status] : measured_.servers) {
      if (status.ok() || measures != cluster::Measures::kAll) continue;
      measures = cluster::Measures::kPartly;
      why = absl::StrCat(server, ": ", status.message());
    }
    // One that has no verdict yet, such as of a rate, which takes two samples, would deny.
    if (measures == cluster::Measures::kAll && !measured_.warming.empty()) return;
  }
  on_measured_(name(), measures, why);
}

bool WatchedTarget::Reconfigure(const config::Config& config, size_t place) {
  if (ConnectionsOf(settings_) != ConnectionsOf(config.targets[place])) return false;
  if (monitor_ == nullptr) return true;
  {
    const MutexLock lock(&measured_mutex_);
    measured_.warming.clear();  // which may be of profiles that are gone
  }
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
  {
    const MutexLock lock(&measured_mutex_);
    if (health.status == engine::HealthStatus::kWarming) {
      measured_.warming.emplace(profile);
    } else if (const auto found = measured_.warming.find(profile);
               found != measured_.warming.end()) {
      measured_.warming.erase(found);
    }
  }
  TellMeasured();
  // Until there is a sample it is shut for want of one, at each start.
  if (health.status != engine::HealthStatus::kWarming) TellGate(profile, health, now);
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

void WatchedTarget::TellGate(std::string_view profile, const engine::Health& health, Now now) {
  std::string signal;
  const std::shared_ptr<const engine::Policy> policy = engine_.policy();
  for (uint32_t i = 0; health.gate_shut && i < policy->profiles.size(); ++i) {
    if (policy->profiles[i].name == profile) signal = engine::SignalOf(*policy, i, health.signal);
  }
  if (!changes_.OfGate(profile, {health.gate_shut, signal}, now).has_value()) return;
  const LogField target{"target", name()};
  if (!health.gate_shut) {
    LogInfo("the gate is open again", {target, {"profile", profile}});
  } else {
    LogWarning("the gate is shut", {target,
                                    {"profile", profile},
                                    {"by", signal.empty() ? "want of a recent sample" : signal},
                                    {"pressure", absl::StrFormat("%.3g", health.pressure)}});
  }
}

void WatchedTarget::OnServer(std::string_view target, std::string_view server,
                             const absl::Status& newest, Now now) {
  {
    const MutexLock lock(&measured_mutex_);
    measured_.servers.insert_or_assign(std::string(server), newest);
  }
  TellMeasured();
  if (!changes_.OfServer(server, newest.ok(), now)) return;
  if (newest.ok()) {
    LogInfo("PostgreSQL answers again", {{"target", target}, {"server", server}});
  } else {
    LogWarning("PostgreSQL does not answer",
               {{"target", target}, {"server", server}, {"why", std::string(newest.message())}});
  }
}

void WatchedTarget::OnNotes(std::string_view target, const std::vector<std::string>& notes,
                            Now now) {
  for (const std::string& note : changes_.OfNotes(notes, now)) {
    LogWarning("a target may not be measured as it is meant", {{"target", target}, {"what", note}});
  }
}

void WatchedTarget::OnNote(std::string_view target, std::string_view server,
                           const std::string& note) {
  std::string& before = notes_.try_emplace(std::string(server)).first->second;
  if (before == note) return;
  before = note;
  if (note.empty()) {
    LogInfo("PostgreSQL is reached directly", {{"target", target}, {"server", server}});
  } else {
    LogWarning("PostgreSQL is not reached directly",
               {{"target", target}, {"server", server}, {"what", note}});
  }
}

void WatchedTarget::Stop() {
  if (monitor_ != nullptr) monitor_->Stop();
}

}  // namespace headgate::app
