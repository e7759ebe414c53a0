#include "server/remember/throttle_log/cause.h"

#include <cmath>
#include <string>

#include "common/hash.h"
#include "server/decide/engine/policy.h"

namespace headgate::throttle_log {
namespace {

using engine::CheckAnswer;
using engine::Limit;
using engine::Reason;
using engine::Violation;

// The one that asks for the longest wait; of equals the first. Null: nothing objected.
const Violation* Decisive(const CheckAnswer& answer) {
  const Violation* decisive = nullptr;
  const bool denied = answer.verdict == engine::Verdict::kDenied;
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a reference's address is not null.
  for (const Violation& violation : answer.violations) {
    if (denied && violation.warn) continue;
    if (decisive == nullptr || violation.retry_after > decisive->retry_after) {
      decisive = &violation;
    }
  }
  return decisive;
}

// The stage that would have denied. Rules have no WARN.
Reason StageOf(Limit limit) {
  switch (limit) {
    case Limit::kHealth:
      return Reason::kHealth;
    case Limit::kMaxCost:
      return Reason::kMaxCost;
    case Limit::kMaxConcurrency:
      return Reason::kMaxConcurrency;
    case Limit::kPermits:
      return Reason::kPermits;
    case Limit::kLine:
      return Reason::kLine;
    case Limit::kLineFull:
      return Reason::kLineFull;
    default:
      return Reason::kCapacity;
  }
}

// Pressure is a float: what follows its seventh digit is noise.
double SevenDigits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 6 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

// In the signal's unit where there is a signal. {0, 0}: where that stands is not known.
engine::Measured Measure(const CheckAnswer& answer, const Violation& violation) {
  const engine::Policy& policy = *answer.policy;
  if (engine::SignalOf(policy, violation).empty()) return engine::MeasuredBy(policy, violation);
  if (violation.limit == Limit::kHealth) {
    if (violation.observed < 1) return {};  // shut for want of a sample
    return engine::MeasuredBy(policy, violation);
  }
  // A budget that the signal slows. The answer has the health of its slowest clock.
  const engine::HealthView& view = answer.health;
  const auto pressure = static_cast<double>(view.health.pressure);
  if (view.profile != violation.profile || view.health.signal != violation.signal ||
      view.health.status != engine::HealthStatus::kHealthy || pressure <= 0) {
    return {};
  }
  return engine::SignalAt(policy, violation.profile, violation.signal, pressure)
      .value_or(engine::Measured{});
}

}  // namespace

uint64_t CauseView::Hash(uint64_t seed) const {
  const auto kinds = static_cast<uint64_t>(outcome) << 16 | static_cast<uint64_t>(reason) << 8 |
                     static_cast<uint64_t>(limit);
  uint64_t hash = CombineHash(seed, kinds);
  if (!budget.empty()) hash = CombineHash(hash ^ 1, HashBytes(budget, seed));
  if (!rule.empty()) hash = CombineHash(hash ^ 2, HashBytes(rule, seed));
  if (!signal.empty()) hash = CombineHash(hash ^ 4, HashBytes(signal, seed));
  return hash;
}

Cause CauseView::ToCause() const {
  return {.reason = reason,
          .limit = limit,
          .budget = std::string(budget),
          .rule = std::string(rule),
          .signal = std::string(signal)};
}

CauseView CauseOf(const CheckAnswer& answer) {
  CauseView cause;
  cause.reason = answer.reason;
  const bool denied = answer.verdict == engine::Verdict::kDenied;
  // A Check that no rule matches may still be denied: by the health of the target.
  if (answer.unmatched && answer.reason == Reason::kNone) cause.reason = Reason::kUnmatched;
  if (denied) cause.outcome = Outcome::kDenied;
  const Violation* const decisive = Decisive(answer);
  if (decisive == nullptr) return cause;
  const engine::Policy& policy = *answer.policy;
  cause.limit = decisive->limit;
  if (!denied) {
    cause.outcome = Outcome::kWouldBeDenied;
    cause.reason = StageOf(decisive->limit);
  }
  if (decisive->budget < policy.budget_specs.size()) {
    cause.budget = policy.budget_specs[decisive->budget].name;
  }
  if (decisive->rule < policy.rules.size()) cause.rule = policy.rules.name(decisive->rule);
  cause.signal = engine::SignalOf(policy, *decisive);
  const engine::Measured measured = Measure(answer, *decisive);
  cause.observed = cause.signal.empty() ? measured.observed : SevenDigits(measured.observed);
  cause.limit_value = measured.limit;
  return cause;
}

}  // namespace headgate::throttle_log
