#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "server/decide/engine/policy.h"
#include "server/decide/engine/profiles_in_use.h"
#include "server/observe/health/condition.h"
#include "server/observe/health/health_changes.h"
#include "server/serve/web/metrics.h"

namespace headgate::web {
namespace {

using engine::HealthStatus;

constexpr std::string_view kStates[] = {"unmonitored", "warming", "stale", "healthy",
                                        "recovering",  "slowed",  "shut"};

// Of a recent sample, what it comes to: a gate that is shut is not healthy.
std::string_view StateOf(const engine::Health& health) {
  if (health.status != HealthStatus::kHealthy) return health::NameOf(health.status);
  return health::NameOf(health::KindOf(health));
}

// `at_ns` is not 0.
double AgeSeconds(int64_t at_ns, Now now) {
  return static_cast<double>(std::max<int64_t>(now.monotonic_ns - at_ns, 0)) * 1e-9;
}

void AddSignals(const health::TargetSnapshot& target, Now now, Exposition& out) {
  auto value = out.Gauge("headgate_health_signal_value",
                         "Newest value of a health signal, in its own unit.");
  auto age =
      out.Gauge("headgate_health_signal_age_seconds", "How long ago a health signal was read.");
  auto error = out.Gauge("headgate_health_signal_error",
                         "Whether the newest attempt to read a health signal failed.");
  for (const health::SignalSnapshot& signal : target.signals) {
    const auto set = [&](auto& family, double number) {
      family.Set({{"target", target.name}, {"signal", signal.instance}}, number);
    };
    if (signal.value.has_value()) set(value, *signal.value);
    if (signal.sampled_at_ns != 0) set(age, AgeSeconds(signal.sampled_at_ns, now));
    set(error, signal.error.empty() ? 0 : 1);
  }
}

// The policy's profiles have the signals of all targets; those of this one are in its snapshot.
void AddThresholds(const health::TargetSnapshot& target, const engine::HealthProfileSpec& profile,
                   Exposition& out) {
  auto soft = out.Gauge("headgate_health_signal_soft_threshold",
                        "Value from which on a signal slows the profile's budgets.");
  auto hard = out.Gauge("headgate_health_signal_hard_threshold",
                        "Value from which on a signal shuts the profile's gate.");
  auto pressure = out.Gauge("headgate_health_signal_pressure",
                            "Where a signal stands: 0 at soft or below, 1 at hard, above it more.");
  if (profile.thresholds.size() != profile.signals.size()) return;
  for (const health::SignalSnapshot& signal : target.signals) {
    for (size_t i = 0; i < profile.signals.size(); ++i) {
      if (profile.signals[i] != signal.instance) continue;
      const auto set = [&](auto& family, double number) {
        family.Set(
            {{"target", target.name}, {"profile", profile.name}, {"signal", signal.instance}},
            number);
      };
      const engine::SignalThresholds& at = profile.thresholds[i];
      set(soft, at.soft);
      set(hard, at.hard);
      if (!signal.value.has_value() || at.hard == at.soft) continue;
      set(pressure, std::max(0.0, (*signal.value - at.soft) / (at.hard - at.soft)));
    }
  }
}

void AddProfiles(const health::TargetSnapshot& target, Now now, Exposition& out) {
  auto pressure = out.Gauge("headgate_health_pressure",
                            "Pressure of a profile's worst signal: 0 at soft, 1 at hard.");
  auto speed =
      out.Gauge("headgate_health_speed",
                "Speed at which a profile's budgets drain: 1 is their rate, 0 stands still.");
  auto shut = out.Gauge("headgate_health_gate_shut",
                        "Whether a profile's gate is shut, so that every Check on it is denied.");
  auto age = out.Gauge("headgate_health_sample_age_seconds",
                       "Age of a profile's sample: of the oldest server that it needs.");
  auto state = out.Gauge("headgate_health_state",
                         "1 for the state that a profile is in: healthy, recovering, slowed, "
                         "shut, stale, warming or unmonitored.");
  for (const health::ProfileSnapshot& profile : target.profiles) {
    const auto set = [&](auto& family, double number) {
      family.Set({{"target", target.name}, {"profile", profile.profile}}, number);
    };
    set(pressure, static_cast<double>(profile.health.pressure));
    set(speed, profile.health.speed);
    set(shut, profile.health.gate_shut ? 1 : 0);
    if (profile.health.sampled_at_ns != 0) set(age, AgeSeconds(profile.health.sampled_at_ns, now));
    for (const std::string_view each : kStates) {
      state.Set({{"target", target.name}, {"profile", profile.profile}, {"state", each}},
                each == StateOf(profile.health) ? 1 : 0);
    }
  }
}

void AddServers(const health::TargetSnapshot& target, Now now, Exposition& out) {
  auto up = out.Gauge("headgate_postgres_up",
                      "Whether the newest poll of a PostgreSQL server succeeded.");
  auto took = out.Gauge("headgate_postgres_poll_duration_seconds",
                        "How long the newest poll of a PostgreSQL server took.");
  auto every = out.Gauge("headgate_postgres_poll_interval_seconds",
                         "How often a PostgreSQL server is polled at present.");
  auto age = out.Gauge("headgate_postgres_sample_age_seconds",
                       "Age of the newest sample of a PostgreSQL server.");
  for (const health::ServerSnapshot& server : target.servers) {
    const auto set = [&](auto& family, double number) {
      family.Set({{"target", target.name}, {"server", server.name}}, number);
    };
    set(up, server.reachable ? 1 : 0);
    set(took, absl::ToDoubleSeconds(server.poll_time));
    set(every, absl::ToDoubleSeconds(server.poll_interval));
    if (server.sampled_at_ns != 0) set(age, AgeSeconds(server.sampled_at_ns, now));
  }
}

// The same as in status, on the page and in the command.
void AddCondition(const health::TargetSnapshot& target, const engine::Policy& policy, Now now,
                  Exposition& out) {
  auto condition =
      out.Gauge("headgate_target_condition",
                "1 for what the health of a target comes to: that of the worst profile "
                "in use. healthy, recovering, standby_missing, slowed, warming, stale, "
                "shut or unmeasured.");
  const std::vector<std::string> in_use = engine::ProfilesInUse(policy, target.name, now.wall());
  const health::ConditionKind kind = health::ConditionOf(target, in_use, now.wall()).kind;
  for (auto each = health::ConditionKind::kUnmeasured; each <= health::ConditionKind::kShut;
       each = static_cast<health::ConditionKind>(static_cast<int>(each) + 1)) {
    condition.Set({{"target", target.name}, {"condition", health::NameOf(each)}},
                  each == kind ? 1 : 0);
  }
}

}  // namespace

void AddHealth(absl::Span<const health::TargetSnapshot> targets, const engine::Policy& policy,
               Now now, Exposition& out) {
  for (const health::TargetSnapshot& target : targets) {
    AddSignals(target, now, out);
    for (const engine::HealthProfileSpec& profile : policy.profiles) {
      AddThresholds(target, profile, out);
    }
    AddProfiles(target, now, out);
    AddServers(target, now, out);
    AddCondition(target, policy, now, out);
  }
}

}  // namespace headgate::web
