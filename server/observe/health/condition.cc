#include "server/observe/health/condition.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace headgate::health {
namespace {

using engine::HealthStatus;

std::string By(const std::string& signal) {
  return signal.empty() ? "" : absl::StrCat(" by ", signal);
}

// "replication_lag_seconds cannot be read, or its reading is too old".
std::string Unknown(const ProfileSnapshot& profile) {
  return profile.signal.empty()
             ? "what is known is too old"
             : absl::StrCat(profile.signal, " cannot be read, or its reading is too old");
}

std::string Speed(double speed) { return absl::StrFormat("%.0f %%", 100 * speed); }

std::string MessageOf(ConditionKind kind, const ProfileSnapshot& profile) {
  const engine::Health& health = profile.health;
  switch (kind) {
    case ConditionKind::kUnmeasured:
      return "nothing is measured: budgets run in real time";
    case ConditionKind::kHealthy:
      return "no signal is above its soft threshold";
    case ConditionKind::kRecovering:
      return absl::StrCat("budgets drain at ", Speed(health.speed),
                          ": the pressure is gone, and speed recovers");
    case ConditionKind::kSlowed:
      return absl::StrCat("budgets drain at ", Speed(health.speed), ", slowed", By(profile.signal));
    case ConditionKind::kWarming:
      return "there has been no sample yet";
    case ConditionKind::kStale:
      return absl::StrCat(Unknown(profile), "; budgets drain at ", Speed(health.speed));
    case ConditionKind::kShut:
      if (health.status == HealthStatus::kWarming) {
        return "the gate is shut: there has been no sample yet";
      }
      if (health.status == HealthStatus::kStale) {
        return absl::StrCat("the gate is shut: ", Unknown(profile));
      }
      if (health.gate_shut) return absl::StrCat("the gate is shut", By(profile.signal));
      return absl::StrCat("the speed is 0", By(profile.signal), ": no budget drains");
    case ConditionKind::kStandbyMissing:
      break;  // no profile's
  }
  return "";
}

// That no operator has set aside.
const ServerSnapshot* MissingStandby(const TargetSnapshot& target, absl::Time now) {
  for (size_t i = 1; i < target.servers.size(); ++i) {
    const ServerSnapshot& server = target.servers[i];
    const bool is_set_aside = server.set_aside_until > now;
    const bool was_asked = target.servers[0].sampled_at_ns != 0;
    if (!server.reachable && was_asked && !is_set_aside) return &server;
  }
  return nullptr;
}

}  // namespace

ConditionKind KindOf(const engine::Health& health) {
  const bool is_measured = health.status != HealthStatus::kUnmonitored;
  if (is_measured && (health.gate_shut || health.speed <= 0)) return ConditionKind::kShut;
  switch (health.status) {
    case HealthStatus::kUnmonitored:
      return ConditionKind::kUnmeasured;
    case HealthStatus::kWarming:
      return ConditionKind::kWarming;
    case HealthStatus::kStale:
      return ConditionKind::kStale;
    case HealthStatus::kHealthy:
      break;
  }
  if (health.speed >= 1) return ConditionKind::kHealthy;
  return health.pressure > 0 ? ConditionKind::kSlowed : ConditionKind::kRecovering;
}

std::string_view NameOf(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::kUnmeasured:
      return "unmeasured";
    case ConditionKind::kHealthy:
      return "healthy";
    case ConditionKind::kRecovering:
      return "recovering";
    case ConditionKind::kStandbyMissing:
      return "standby_missing";
    case ConditionKind::kSlowed:
      return "slowed";
    case ConditionKind::kWarming:
      return "warming";
    case ConditionKind::kStale:
      return "stale";
    case ConditionKind::kShut:
      return "shut";
  }
  return "";
}

Condition ConditionOf(const ProfileSnapshot& profile) {
  const ConditionKind kind = KindOf(profile.health);
  return {.kind = kind,
          .profile = profile.profile,
          .signal = profile.signal,
          .message = absl::StrCat("profile '", profile.profile, "': ", MessageOf(kind, profile)),
          .since_ns = profile.since_ns};
}

Condition ConditionOf(const TargetSnapshot& target, const std::vector<std::string>& in_use,
                      absl::Time now) {
  Condition worst{.message = "no health profile is in use here: budgets run in real time"};
  bool is_first = true;
  for (const ProfileSnapshot& profile : target.profiles) {
    if (std::find(in_use.begin(), in_use.end(), profile.profile) == in_use.end()) continue;
    Condition condition = ConditionOf(profile);
    if (is_first || condition.kind > worst.kind) worst = std::move(condition);
    is_first = false;
  }
  const ServerSnapshot* const missing = MissingStandby(target, now);
  if (missing == nullptr || worst.kind >= ConditionKind::kStandbyMissing) return worst;
  return {.kind = ConditionKind::kStandbyMissing,
          .message = absl::StrCat("standby '", missing->name, "' is missing",
                                  missing->error.empty() ? "" : ": ", missing->error)};
}

}  // namespace headgate::health
