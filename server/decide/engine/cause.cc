#include "server/decide/engine/cause.h"

#include <cmath>
#include <string>

#include "common/hash.h"
#include "server/decide/engine/policy.h"

namespace headgate::engine {
namespace {

// The one that asks for the longest wait; of equals the first. Null: nothing objected.
const Violation* Decisive(const CheckAnswer& answer) {
  const Violation* decisive = nullptr;
  const bool denied = answer.verdict == Verdict::kDenied;
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a reference's address is not null.
  for (const Violation& violation : answer.violations) {
    if (denied && violation.warn) continue;
    if (decisive == nullptr || violation.retry_after > decisive->retry_after) {
      decisive = &violation;
    }
  }
  return decisive;
}

// Pressure is a float: what follows its seventh digit is noise.
double SevenDigits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 6 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

// In the signal's unit where there is a signal. {0, 0}: where that stands is not known.
Measured Measure(const CheckAnswer& answer, const Violation& violation) {
  const Policy& policy = *answer.policy;
  if (SignalOf(policy, violation).empty()) return MeasuredBy(policy, violation);
  if (violation.limit == Limit::kHealth) {
    if (violation.observed < 1) return {};  // shut for want of a sample
    return MeasuredBy(policy, violation);
  }
  // A budget that the signal slows. The answer has the health of its slowest clock.
  const HealthView& view = answer.health;
  const auto pressure = static_cast<double>(view.health.pressure);
  if (view.profile != violation.profile || view.health.signal != violation.signal ||
      view.health.status != HealthStatus::kHealthy || pressure <= 0) {
    return {};
  }
  return SignalAt(policy, violation.profile, violation.signal, pressure).value_or(Measured{});
}

// Names the limit, and what it compared.
void Describe(const CheckAnswer& answer, const Violation& violation, CauseView& cause) {
  const Policy& policy = *answer.policy;
  cause.limit = violation.limit;
  if (violation.budget < policy.budget_specs.size()) {
    cause.budget = policy.budget_specs[violation.budget].name;
  }
  if (violation.rule < policy.rules.size()) cause.rule = policy.rules.name(violation.rule);
  cause.signal = SignalOf(policy, violation);
  const Measured measured = Measure(answer, violation);
  cause.observed = cause.signal.empty() ? measured.observed : SevenDigits(measured.observed);
  cause.limit_value = measured.limit;
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

Reason StageOf(Limit limit) {
  switch (limit) {
    case Limit::kRule:
      return Reason::kDenyRule;
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
    case Limit::kApproximate:
      return Reason::kApproximate;
    case Limit::kRate:
    case Limit::kBurst:
    case Limit::kProbe:
      break;
  }
  return Reason::kCapacity;
}

CauseView CauseOf(const CheckAnswer& answer) {
  CauseView cause;
  cause.reason = answer.reason;
  const bool denied = answer.verdict == Verdict::kDenied;
  // A Check that no rule matches may still be denied: by the health of the target.
  if (answer.unmatched && answer.reason == Reason::kNone) cause.reason = Reason::kUnmatched;
  if (denied) cause.outcome = CheckOutcome::kDenied;
  const Violation* const decisive = Decisive(answer);
  if (decisive == nullptr) return cause;
  if (!denied) {
    cause.outcome = CheckOutcome::kWouldBeDenied;
    cause.reason = StageOf(decisive->limit);
  }
  Describe(answer, *decisive, cause);
  return cause;
}

CauseView WaitCauseOf(const CheckAnswer& answer, const Violation& violation) {
  CauseView cause;
  cause.outcome = CheckOutcome::kWaited;
  // The first stage that refuses, as of a denial: behind a shut gate a budget has no room either.
  cause.reason = answer.reason == Reason::kNone ? StageOf(violation.limit) : answer.reason;
  cause.limit = violation.limit;
  if (answer.policy != nullptr) Describe(answer, violation, cause);
  // All who wait in one line wait for the same, whichever rule and budget brought each of them
  // there.
  if (cause.limit != Limit::kRule) cause.rule = {};
  if (cause.limit == Limit::kHealth) cause.budget = {};
  if (cause.limit == Limit::kLine) {
    cause.limit = Limit::kBurst;
    if (cause.reason == Reason::kLine) cause.reason = Reason::kCapacity;
  }
  return cause;
}

}  // namespace headgate::engine
