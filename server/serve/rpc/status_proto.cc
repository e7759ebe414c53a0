#include "server/serve/rpc/status_proto.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/profiles_in_use.h"
#include "server/observe/health/condition.h"
#include "server/serve/rpc/decision_proto.h"
#include "server/serve/rpc/override_proto.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

using health::ConditionKind;

// `message` has an age field, which stays absent where there never was a sample.
template <typename Message>
void FillAge(int64_t at_ns, const Now& now, Message& message,
             google::protobuf::Duration* (Message::*field)()) {
  if (at_ns == 0) return;
  SetDuration(std::max<int64_t>(now.monotonic_ns - at_ns, 0), *(message.*field)());
}

void FillServer(const health::ServerSnapshot& from, const Now& now, v1::ServerStatus& to) {
  to.set_name(from.name);
  to.set_reachable(from.reachable);
  to.set_error(from.error);
  FillAge(from.sampled_at_ns, now, to, &v1::ServerStatus::mutable_sample_age);
  SetDuration(from.poll_time, *to.mutable_poll_time());
  SetDuration(from.poll_interval, *to.mutable_poll_interval());
  to.set_note(from.note);
  if (from.set_aside_until > now.wall()) {
    SetTimestamp(from.set_aside_until, *to.mutable_set_aside_until());
  }
}

// Of each profile that watches this instance of a signal.
void FillThresholds(const std::string& instance, const engine::Policy& policy,
                    v1::SignalStatus& to) {
  for (const engine::HealthProfileSpec& profile : policy.profiles) {
    const auto found = std::find(profile.signals.begin(), profile.signals.end(), instance);
    const auto place = static_cast<size_t>(found - profile.signals.begin());
    if (place >= profile.thresholds.size()) continue;
    v1::SignalThresholds& thresholds = *to.add_thresholds();
    thresholds.set_profile(profile.name);
    thresholds.set_soft(profile.thresholds[place].soft);
    thresholds.set_hard(profile.thresholds[place].hard);
  }
}

void FillSignal(const health::SignalSnapshot& from, const Now& now, v1::SignalStatus& to) {
  to.set_name(from.instance);
  if (from.value.has_value()) to.set_value(*from.value);
  to.set_error(from.error);
  FillAge(from.sampled_at_ns, now, to, &v1::SignalStatus::mutable_age);
}

void FillController(const health::ControllerSnapshot& from, v1::ControllerStatus& to) {
  to.set_budget(from.budget);
  to.set_phase(from.phase);
  to.set_rate(from.rate);
  to.set_foreground_alone(from.foreground_alone);
  to.set_foreground_with_batch(from.foreground_with_batch);
  for (const health::EffectSnapshot& effect : from.effects) {
    v1::ForegroundEffect& proto = *to.add_effects();
    proto.set_kind(effect.kind);
    proto.set_effect(effect.effect);
    proto.set_uncertainty(effect.uncertainty);
    proto.set_tolerance(effect.tolerance);
    proto.set_known(effect.known);
    proto.set_binds(effect.binds);
  }
  to.set_explanation(from.explanation);
}

static_assert(v1::CONDITION_KIND_UNMEASURED == static_cast<int>(ConditionKind::kUnmeasured));
static_assert(v1::CONDITION_KIND_SHUT == static_cast<int>(ConditionKind::kShut));

void FillCondition(const health::Condition& from, const Now& now, v1::Condition& to) {
  to.set_kind(static_cast<v1::ConditionKind>(from.kind));
  to.set_profile(from.profile);
  to.set_signal(from.signal);
  to.set_message(from.message);
  FillAge(from.since_ns, now, to, &v1::Condition::mutable_since);
}

void FillConditions(const health::TargetSnapshot& from, const engine::Policy* policy,
                    const Now& now, v1::TargetStatus& to) {
  std::vector<std::string> in_use;
  if (policy != nullptr) in_use = engine::ProfilesInUse(*policy, from.name, now.wall());
  FillCondition(health::ConditionOf(from, in_use, now.wall()), now, *to.mutable_condition());
  for (const health::ProfileSnapshot& profile : from.profiles) {
    FillCondition(health::ConditionOf(profile), now, *to.add_conditions());
  }
}

const char* ModeName(engine::Mode mode) {
  switch (mode) {
    case engine::Mode::kEnforce:
      return "ENFORCE";
    case engine::Mode::kWarn:
      return "WARN";
    case engine::Mode::kDisabled:
      return "DISABLED";
  }
  return "";
}

std::string SplitName(const engine::SplitSpec& split) {
  if (const auto* depth = std::get_if<engine::SplitByDepth>(&split)) {
    return absl::StrCat("depth ", depth->depth);
  }
  if (const auto* tag = std::get_if<engine::SplitByTag>(&split)) {
    return absl::StrCat("tag ", tag->key);
  }
  return "none";
}

}  // namespace

void FillConfig(const config::LoadStatus& from, v1::ConfigStatus& to) {
  to.set_path(from.path);
  to.set_version(from.version);
  if (from.loaded_at != absl::InfinitePast()) SetTimestamp(from.loaded_at, *to.mutable_loaded_at());
  for (const std::string& error : from.errors) to.add_errors(error);
  if (from.refused_at != absl::InfinitePast()) {
    SetTimestamp(from.refused_at, *to.mutable_refused_at());
  }
  for (const std::string& field : from.pending_restart) to.add_pending_restart(field);
  for (const std::string& warning : from.warnings) to.add_warnings(warning);
}

void FillTarget(const health::TargetSnapshot& from, const engine::Policy* policy, const Now& now,
                v1::TargetStatus& to) {
  to.set_name(from.name);
  if (policy != nullptr) {
    for (const engine::TargetSpec& target : policy->target_specs) {
      if (target.name == from.name) to.set_default_health(target.default_health);
    }
  }
  for (const auto& server : from.servers) FillServer(server, now, *to.add_servers());
  for (const auto& signal : from.signals) {
    v1::SignalStatus& filled = *to.add_signals();
    FillSignal(signal, now, filled);
    if (policy != nullptr) FillThresholds(signal.instance, *policy, filled);
  }
  for (const auto& profile : from.profiles) {
    v1::Health& health = *to.add_profiles();
    health.set_profile(profile.profile);
    health.set_signal(profile.signal);
    FillHealth(profile.health, health);
    FillAge(profile.health.sampled_at_ns, now, health, &v1::Health::mutable_sample_age);
  }
  FillConditions(from, policy, now, to);
  for (const auto& controller : from.controllers) FillController(controller, *to.add_controllers());
  for (const std::string& note : from.notes) to.add_warnings(note);
}

void FillPermits(const engine::Engine& engine, const Now& now, v1::PermitsStatus& to) {
  constexpr size_t kMostHolders = 20;
  const engine::Engine::PermitStats stats = engine.ReadPermitStats(now);
  to.set_capacity(static_cast<int64_t>(stats.capacity));
  to.set_max_share(stats.max_share);
  to.set_most_for_one(stats.most_for_one);
  to.set_turned_away(stats.turned_away);
  to.set_without_permit(stats.without);
  for (const engine::PermitHolderView& from : engine.ReadPermitHolders(kMostHolders)) {
    v1::PermitHolder& holder = *to.add_holders();
    holder.set_name(from.name);
    holder.set_is_caller(from.is_caller);
    holder.set_permits(from.permits);
    holder.set_turned_away(from.turned_away);
  }
}

void FillThrottleLog(const throttle_log::ThrottleLogSnapshot& from, v1::ThrottleLogStatus& to) {
  to.set_store(from.store);
  to.set_error(std::string(from.status.message()));
  to.set_rows_written(from.rows_written);
  to.set_rows_buffered(from.rows_buffered);
  to.set_dropped_checks(from.dropped_checks);
  to.set_folded_checks(from.folded_checks);
  to.set_bytes(from.bytes);
  if (from.oldest != absl::InfiniteFuture()) SetTimestamp(from.oldest, *to.mutable_oldest());
  to.set_set_aside(from.set_aside);
  to.set_note(from.note);
}

void FillOverrides(const overrides::OverridesSnapshot& from, v1::OverridesStatus& to) {
  to.set_in_force(static_cast<int32_t>(from.in_force));
  to.set_error(std::string(from.status.message()));
  for (const overrides::Override& stop : from.stops) FillOverride(stop, *to.add_stops());
}

void FillSnapshot(const snapshot::SnapshotView& from, const Now& now, v1::SnapshotStatus& to) {
  to.set_path(from.path);
  if (from.as_of != absl::InfinitePast()) {
    SetTimestamp(from.as_of, *to.mutable_as_of());
    SetDuration(std::max(now.wall() - from.as_of, absl::ZeroDuration()), *to.mutable_age());
  }
  to.set_bytes(from.bytes);
  to.set_error(std::string(from.status.message()));
  to.set_failed_writes(from.failed_writes);
  if (from.restored_from != absl::InfinitePast()) {
    SetTimestamp(from.restored_from, *to.mutable_restored_from());
  }
  to.set_restored_permits(from.restored_permits);
  to.set_restored_buckets(from.restored_buckets);
  to.set_refused(std::string(from.refused.message()));
  to.set_set_aside(from.set_aside);
}

void FillTls(const tls::TlsSnapshot& from, v1::TlsStatus& to) {
  SetTimestamp(from.expires_at, *to.mutable_certificate_expires_at());
  SetTimestamp(from.loaded_at, *to.mutable_loaded_at());
  to.set_loads(from.loads);
  to.set_error(std::string(from.status.message()));
}

void FillAccess(const access::AccessSnapshot& from, v1::AccessStatus& to) {
  to.set_token_file(from.token_file);
  to.set_tokens(from.tokens);
  to.set_error(std::string(from.status.message()));
}

void FillCaller(const access::Caller& from, v1::CallerStatus& to) {
  to.set_name(from.name());
  to.set_overrides(from.overrides());
  to.set_exempt_overrides(from.exempt_overrides());
  to.set_everything(from.everything());
  to.set_logs(from.logs());
  to.set_costs(from.costs());
  to.set_forgive(from.forgive());
  to.set_servers(from.servers());
  to.set_any_identity(from.MaySpeakForAll());
}

void FillConnections(const transport::ConnectionCounts& from, v1::ConnectionStatus& to) {
  to.set_open(from.open);
  to.set_most(from.max_open);
  to.set_accepted(from.accepted);
  to.set_refused(from.refused);
  to.set_failed(from.failed);
}

void FillBudget(const engine::BudgetView& from, v1::BudgetStatus& to) {
  to.set_target(from.target);
  to.set_budget(from.budget);
  to.set_mode(ModeName(from.mode));
  to.set_split(SplitName(from.split));
  if (from.rate.has_value()) to.set_rate(*from.rate);
  to.set_auto_rate(from.is_auto);
  if (from.burst.has_value()) to.set_burst(*from.burst);
  to.set_debt(from.debt);
  to.set_buckets_owing(static_cast<int64_t>(from.buckets_owing));
  if (from.outstanding.has_value()) to.set_outstanding(*from.outstanding);
  if (from.max_concurrency.has_value()) to.set_max_concurrency(*from.max_concurrency);
  to.set_health(from.health);
  to.set_speed(from.speed);
  to.set_unit(ToBudgetUnit(from.unit));
  to.set_overruns(static_cast<int64_t>(from.overruns));
  to.set_overrun_sum(from.overrun_sum);
}

void FillBucketStatus(const engine::FullBucket& from, v1::BucketStatus& to) {
  to.set_target(from.target);
  to.set_budget(from.budget);
  to.set_bucket(from.bucket);
  to.set_debt(from.debt);
  to.set_fill(from.fill);
  to.set_unit(ToBudgetUnit(from.unit));
  if (from.empty_in != absl::InfiniteDuration()) {
    SetDuration(from.empty_in, *to.mutable_empty_in());
  }
}

}  // namespace headgate::rpc
