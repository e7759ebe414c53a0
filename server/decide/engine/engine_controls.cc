#include "server/decide/engine/engine_controls.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::engine {
namespace {

// A controller that differs by less is on time.
constexpr int64_t kOnTimeNs = 1'000'000;

// Whether work that was let go until the change that had been announced is late for this one.
bool IsEarly(const Health& before, const AutoRateSetting& setting, Now now) {
  const int64_t announced_ns = before.next_sample_at_ns - kOnTimeNs;
  if (before.gate_shut || announced_ns <= now.monotonic_ns) return false;
  const int64_t next_ns = setting.next_change_at_ns;
  return setting.shut || (next_ns != 0 && next_ns < announced_ns);
}

}  // namespace

absl::Status EngineControls::SetHealth(std::string_view target, std::string_view profile,
                                       const Health& health, Now now) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  uint32_t place = 0;
  if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
  for (size_t i = 0; i < policy->profiles.size(); ++i) {
    if (policy->profiles[i].name != profile) continue;
    VirtualClock& clock = *policy->targets[place].gates[i];
    const Health before = clock.Read(now.monotonic_ns).health;
    clock.Set(health, now.monotonic_ns);
    if (before.speed != health.speed || before.gate_shut != health.gate_shut) core_.TellChanged();
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("profile: no health profile '", Sv(profile), "'"));
}

absl::Status EngineControls::SetAutoRate(std::string_view target, std::string_view budget,
                                         const AutoRateSetting& setting, Now now) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  constexpr double kMaxAutoRate = 1024;
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  if (!(setting.rate >= 0 && setting.rate <= kMaxAutoRate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate: must be 0 to ", kMaxAutoRate, "; it is ", setting.rate));
  }
  if (!(setting.start_level >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("start_level: must not be below 0; it is ", setting.start_level));
  }
  if (setting.most_permits < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("most_permits: must be 1 or more; it is ", setting.most_permits));
  }
  absl::StatusOr<const Budget*> found = FindAutoBudget(*policy, target, budget);
  if (!found.ok()) return found.status();
  VirtualClock& clock = *(*found)->ledger->axis().clock;
  const Health before = clock.Read(now.monotonic_ns).health;
  const double speed = setting.rate * Ledger::kAutoSpeed;
  clock.Set({.speed = speed,
             .status = HealthStatus::kHealthy,
             .gate_shut = setting.shut,
             .next_sample_at_ns = setting.next_change_at_ns},
            now.monotonic_ns);
  Ledger& ledger = *(*found)->ledger;
  const int64_t level_before_ns = ledger.start_level_ns();
  const int64_t permits_before = ledger.most_permits();
  const bool is_early = IsEarly(before, setting, now);
  if (is_early) ledger.NoteEarlyChange();
  ledger.AdviseChunk(setting.chunk_seconds);
  ledger.SetStartLevel(setting.start_level);
  ledger.LimitPermits(setting.most_permits);
  ledger.ShowRate(setting.shown_rate.value_or(setting.rate));
  ledger.DistrustReports(setting.distrusts_reports);
  if (before.speed != speed || before.gate_shut != setting.shut ||
      ledger.start_level_ns() != level_before_ns || setting.most_permits != permits_before ||
      is_early) {
    core_.TellChanged();
  }
  return absl::OkStatus();
}

absl::Status EngineControls::SetProcessorShare(std::string_view target, double share) {
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  if (!(share > 0 && share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("share: must be above 0, up to 1; it is ", share));
  }
  uint32_t place = 0;
  if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
  for (size_t i = 0; i < policy->budget_specs.size(); ++i) {
    const Budget& budget = policy->BudgetsOf(place)[i];
    if (budget.ledger == nullptr || budget.unit != BudgetUnit::kBusyTime) continue;
    budget.ledger->ChargeShare(share);
  }
  return absl::OkStatus();
}

LearntControlBytes EngineControls::ReadLearntControl(std::string_view target) const {
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  uint32_t place = 0;
  if (policy == nullptr || !policy->ResolveTarget(target, place).ok()) return {};
  return core_.learnt_controls.Get(policy->target_specs[place].name);
}

absl::Status EngineControls::SetLearntControl(std::string_view target, std::string_view bytes,
                                              uint64_t adoption) {
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return EngineCore::NotInstalled();
  uint32_t place = 0;
  if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
  if (!IsControl(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("the state of a controller has ", bytes.size(),
                                                   " bytes; at most ", kMaxControlBytes));
  }
  if (!core_.learnt_controls.Set(policy->target_specs[place].name, bytes, adoption)) {
    return absl::AbortedError("the target has been adopted from another owner");
  }
  return absl::OkStatus();
}

}  // namespace headgate::engine
