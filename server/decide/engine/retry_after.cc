#include "server/decide/engine/retry_after.h"

#include <algorithm>

namespace headgate::engine {
namespace {

// A denial always says to wait.
constexpr absl::Duration kShortest = absl::Nanoseconds(1);

}  // namespace

// How long a debt takes at speed 0 is not known, and it is not for ever: speeds change with
// samples.
Room RoomAt(const Candidate& candidate, const Now& now) {
  const Budget& budget = *candidate.budget;
  if (candidate.cost_ns > budget.burst_ns) return {absl::InfiniteDuration()};
  const int64_t excess_ns = candidate.debt_ns() - (candidate.burst_ns() - candidate.cost_ns);
  if (excess_ns <= 0) return {};
  const VirtualClock::Reading reading = budget.clock->Read(now.monotonic_ns);
  const int64_t room_at_ns = candidate.now_ns + excess_ns;
  const int64_t at = reading.RealTimeOf(room_at_ns);
  // The rate of an auto budget holds until its controller thinks again.
  const int64_t changes_at = reading.health.next_sample_at_ns;
  const bool changes = budget.is_auto && changes_at > now.monotonic_ns && changes_at < at;
  if (at != VirtualClock::kNever && !changes) {
    return {std::max(absl::Nanoseconds(at - now.monotonic_ns), kShortest)};
  }
  // Virtual time has an end, beyond which nothing drains. An auto budget turns nobody away for
  // good.
  if (room_at_ns >= VirtualClock::kHorizonNs && !budget.is_auto) {
    return {absl::InfiniteDuration()};
  }
  return {UntilNextSample(reading.health, now), false};
}

absl::Duration UntilNextSample(const Health& health, const Now& now) {
  const int64_t wait_ns = health.next_sample_at_ns - now.monotonic_ns;
  return wait_ns > 0 ? absl::Nanoseconds(wait_ns) : kAskAgain;
}

bool LastsUntilEnded(const RuleSet& rules, uint32_t rule) {
  const RuleSet::View view = rules.ViewOf(rule);
  return view.ends_by_hand && view.expires_at == absl::InfiniteFuture();
}

absl::Duration UntilRuleEnds(const RuleSet& rules, uint32_t rule, const Now& now) {
  const absl::Time wall = now.wall();
  const absl::Time until = rules.AppliesUntil(rule, wall);
  if (until == absl::InfiniteFuture() && LastsUntilEnded(rules, rule)) return kAskAgainWhilePaused;
  return std::max(until - wall, kShortest);
}

absl::Duration LongestRetryAfter(const CheckAnswer& answer) {
  absl::Duration longest = kShortest;
  for (const Violation& violation : answer.violations) {
    if (!violation.warn) longest = std::max(longest, violation.retry_after);
  }
  return longest;
}

}  // namespace headgate::engine
