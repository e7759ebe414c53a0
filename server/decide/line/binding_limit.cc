#include "server/decide/line/binding_limit.h"

#include <algorithm>

namespace headgate::line {

using engine::CheckAnswer;
using engine::Limit;
using engine::Violation;

bool IsCurable(const Violation& violation) {
  if (violation.line_key == 0 || violation.retry_after == absl::InfiniteDuration()) return false;
  switch (violation.limit) {
    case Limit::kRule:
      // A ratio below 1 is diced; that of a denial is 0.
      return violation.limit_value == 0 || violation.limit_value >= 1;
    case Limit::kHealth:
    case Limit::kBurst:
    case Limit::kMaxConcurrency:
    case Limit::kProbe:
    case Limit::kPermits:
    case Limit::kLine:
      return true;
    default:
      return false;
  }
}

const Violation* BindingViolation(const CheckAnswer& answer) {
  if (answer.verdict != engine::Verdict::kDenied) return nullptr;
  const Violation* binding = nullptr;
  for (const Violation& violation : answer.violations) {
    if (violation.warn) continue;
    if (!IsCurable(violation)) return nullptr;
    if (binding == nullptr || violation.retry_after > binding->retry_after) binding = &violation;
  }
  return binding;
}

bool IsOfBucket(Limit limit) {
  return limit == Limit::kBurst || limit == Limit::kMaxConcurrency || limit == Limit::kProbe ||
         limit == Limit::kLine;
}

double CostAtLine(const Violation& violation, const CheckAnswer& answer) {
  if (!IsOfBucket(violation.limit)) return std::max(answer.predicted_cost, 1e-9);
  return static_cast<double>(std::max<int64_t>(violation.cost_ns, 1));
}

}  // namespace headgate::line
