#include <memory>
#include <utility>

#include "server/decide/engine/policy.h"
#include "server/decide/engine/request_index.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {
namespace {

const absl::Duration kNoBusyTime = -absl::Nanoseconds(1);

bool IsPlace(uint32_t place, uint32_t none, size_t places) {
  return place == none || place < places;
}

// Places of signals are looked up with care by whoever shows them.
bool IsOf(const Policy& policy, const Violation& violation) {
  const bool of_rule = violation.limit == Limit::kRule;
  const bool of_budget = !of_rule && violation.limit != Limit::kHealth;
  if (of_rule && violation.rule == kNoRule) return false;
  if (of_budget && violation.budget == Violation::kNoBudget) return false;
  return IsPlace(violation.budget, Violation::kNoBudget, policy.budget_specs.size()) &&
         IsPlace(violation.rule, kNoRule, policy.rules.size()) &&
         (violation.limit != Limit::kHealth || violation.profile < policy.profiles.size());
}

// Where a profile of another policy stands in this one, with the same signals; kNoRule: nowhere.
uint32_t PlaceIn(const Policy& policy, const Policy& other, uint32_t profile) {
  if (profile == kNoRule) return kNoRule;
  const HealthProfileSpec& wanted = other.profiles[profile];
  for (uint32_t place = 0; place < policy.profiles.size(); ++place) {
    const HealthProfileSpec& one = policy.profiles[place];
    if (one.name == wanted.name && one.signals == wanted.signals) return place;
  }
  return kNoRule;
}

HealthView Shifted(HealthView view, const TimeShift& shift) {
  view.real_base_ns = shift(view.real_base_ns);
  view.now_ns = shift(view.now_ns);
  view.health.sampled_at_ns = shift(view.health.sampled_at_ns);
  view.health.next_sample_at_ns = shift(view.health.next_sample_at_ns);
  return view;
}

}  // namespace

void RequestIndex::Save(SavedState& state, const Policy* in_force) const {
  state.requests.clear();
  for (const Stripe& stripe : stripes_) {
    MutexLock lock(&stripe.mutex);
    for (const auto& [key, entry] : stripe.entries) {
      SavedRequest& saved = state.requests.emplace_back();
      saved.key = key;
      saved.permit = entry.permit;
      saved.predicted_cost = entry.predicted_cost;
      saved.predicted_busy_time = entry.predicted_busy_time.value_or(kNoBusyTime);
      saved.probe = entry.probe;
      saved.chunk_scale = entry.chunk_scale;
      saved.reason = entry.reason;
      saved.priority = entry.priority;
      saved.health = entry.health;
      saved.health.health = Storable(entry.health.health);
      if (entry.policy != nullptr && entry.policy->shape != state.shape) {
        saved.probe.budget = Violation::kNoBudget;
        saved.health.profile = PlaceIn(*in_force, *entry.policy, entry.health.profile);
      } else if (entry.warnings != nullptr) {
        saved.warnings = *entry.warnings;
      }
    }
  }
}

void RequestIndex::Restore(const SavedState& state, const TimeShift& shift, int64_t now_ns) {
  for (const SavedRequest& saved : state.requests) {
    if (!permits_.IsLive(saved.permit, now_ns)) continue;
    Entry entry{.permit = saved.permit,
                .predicted_cost = saved.predicted_cost,
                .predicted_busy_time = {},
                .probe = saved.probe,
                .chunk_scale = saved.chunk_scale,
                .reason = saved.reason,
                .priority = saved.priority,
                .health = Shifted(saved.health, shift),
                .policy = nullptr,
                .warnings = nullptr};
    if (saved.predicted_busy_time >= absl::ZeroDuration()) {
      entry.predicted_busy_time = saved.predicted_busy_time;
    }
    if (!saved.warnings.empty()) {
      entry.warnings = std::make_unique<const std::vector<Violation>>(saved.warnings);
    }
    Stripe& stripe = stripes_[saved.key % kStripes];
    MutexLock lock(&stripe.mutex);
    stripe.entries[saved.key] = std::move(entry);
    CountHeld(stripe);
  }
}

void RequestIndex::Adopt(const std::shared_ptr<const Policy>& policy, bool is_alike) {
  for (Stripe& stripe : stripes_) {
    MutexLock lock(&stripe.mutex);
    for (auto& [key, entry] : stripe.entries) {
      HealthView& health = entry.health;
      const bool known = is_alike && IsPlace(health.profile, kNoRule, policy->profiles.size());
      if (!known) health.profile = kNoRule;
      if (!is_alike || entry.probe.budget >= policy->budget_specs.size()) {
        entry.probe.budget = Violation::kNoBudget;
      }
      entry.policy = policy;
      if (entry.warnings == nullptr) continue;
      for (const Violation& warning : *entry.warnings) {
        if (!known || !IsOf(*policy, warning)) {
          entry.warnings = nullptr;
          break;
        }
      }
    }
  }
}

}  // namespace headgate::engine
