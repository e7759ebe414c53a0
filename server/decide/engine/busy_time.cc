#include "server/decide/engine/busy_time.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace headgate::engine {

void PredictBusyTime(Decision& decision) {
  const Resolved& resolved = decision.resolved;
  const auto is_busy = [](const Candidate& candidate) {
    return candidate.budget->unit == BudgetUnit::kBusyTime;
  };
  const absl::Span<Candidate> candidates = decision.Candidates();
  if (std::none_of(candidates.begin(), candidates.end(), is_busy)) return;
  decision.busy_time = decision.tables.costs.PredictBusyTime(
      resolved.cost_owner, resolved.cost_pattern, decision.estimate);
  const double predicted = decision.busy_time.value;
  double largest = std::max(predicted, 0.0);
  for (Candidate& candidate : candidates) {
    if (!is_busy(candidate)) continue;
    candidate.cost = predicted >= 0 ? predicted : candidate.budget->default_cost;
    largest = std::max(largest, candidate.cost);
    const Ledger* const ledger = candidate.budget->ledger;
    if (ledger != nullptr && predicted >= 0) candidate.cost *= ledger->charged_share();
  }
  decision.answer.predicted_busy_time = absl::Seconds(largest);
}

double ChunkScaleFor(double busy_seconds, double best) {
  constexpr double kShortestChunk = 0.005, kBestChunk = 0.02, kLongestChunk = 0.05;
  constexpr double kMaxScale = 16;
  if (!(busy_seconds > 0)) return 0;
  const double shortest = best > 0 ? best * 2 / 3 : kShortestChunk;
  const double longest = best > 0 ? best * 4 / 3 : kLongestChunk;
  if (busy_seconds >= shortest && busy_seconds <= longest) return 0;
  return std::clamp((best > 0 ? best : kBestChunk) / busy_seconds, 1 / kMaxScale, kMaxScale);
}

absl::Status ValidateBusyTime(absl::Duration busy_time, absl::Duration permit_ttl) {
  if (busy_time < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("busy_time: must be 0 or more; it is ", absl::FormatDuration(busy_time)));
  }
  if (busy_time <= kMaxBusyLives * permit_ttl) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("busy_time: ", absl::FormatDuration(busy_time), " is more than ", kMaxBusyLives,
                   " times the life of a permit (", absl::FormatDuration(permit_ttl),
                   "); give seconds that the database was busy, not rows"));
}

double BusySecondsOf(const ActualCost& actual, const Permit& permit, const Now& now,
                     absl::Duration permit_ttl) {
  const absl::Duration since = absl::Nanoseconds(now.monotonic_ns - permit.issued_at_ns);
  return absl::ToDoubleSeconds(std::clamp(actual.busy_time.value_or(since), absl::ZeroDuration(),
                                          kMaxBusyLives * permit_ttl));
}

}  // namespace headgate::engine
