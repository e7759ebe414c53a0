#include "server/decide/engine/lease_grant.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace headgate::engine {
namespace {

// What one of so many who want a bucket may take of it at a time.
int64_t ShareOf(const Decision& decision, const Candidate& candidate) {
  if (decision.line == nullptr || candidate.others_waiting == 0)
    return std::numeric_limits<int64_t>::max();
  const double speed = candidate.budget->clock->Read(decision.now.monotonic_ns).health.speed;
  const double drained =
      speed * static_cast<double>(absl::ToInt64Nanoseconds(decision.lease->life));
  return static_cast<int64_t>(drained / static_cast<double>(candidate.others_waiting + 1));
}

// How many pieces there is room for in all buckets, of `most`: at least the one that was examined.
double PiecesThatFit(Decision& decision, double most) {
  double pieces = most;
  for (const Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    if (budget.warn || candidate.skip || budget.ledger == nullptr || candidate.cost_ns == 0) {
      continue;
    }
    if (candidate.probes) return 1;
    const int64_t room_ns =
        std::min(candidate.burst_ns() - candidate.debt_ns(), ShareOf(decision, candidate));
    const double fit = static_cast<double>(room_ns) / static_cast<double>(candidate.cost_ns);
    pieces = std::clamp(fit, 1.0, pieces);
  }
  return pieces;
}

// The largest estimate that one piece may have.
double LargestPiece(Decision& decision) {
  double largest = kMaxAmount;
  for (const Candidate& candidate : decision.Candidates()) {
    if (candidate.budget->warn || candidate.cost <= 0) continue;
    largest = std::min(largest, decision.estimate * (candidate.budget->max_cost / candidate.cost));
  }
  return std::max(largest, decision.estimate);
}

// A controller measures the foreground without what a lease would still do then.
absl::Duration TimeOf(Decision& decision) {
  absl::Duration time = decision.lease->life;
  for (const Candidate& candidate : decision.Candidates()) {
    if (!candidate.budget->is_auto || candidate.budget->warn) continue;
    const Health health = candidate.budget->clock->Read(decision.now.monotonic_ns).health;
    const int64_t left_ns = health.next_sample_at_ns - decision.now.monotonic_ns;
    if (left_ns > 0) time = std::min(time, absl::Nanoseconds(left_ns));
  }
  return time;
}

bool IsOneAtATime(absl::Span<const Candidate> candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const Candidate& candidate) {
    return candidate.budget->limits_concurrency && !candidate.budget->warn;
  });
}

// What one piece costs becomes what all of them do.
void Enlarge(Candidate& candidate, double pieces) {
  const Budget& budget = *candidate.budget;
  candidate.cost *= pieces;
  if (budget.ledger == nullptr) return;
  const int64_t room_ns = candidate.burst_ns() - candidate.debt_ns();
  const int64_t cost_ns = budget.FittedNs(Ledger::ToNs(candidate.cost, budget.ns_per_unit));
  // What rounding adds must not make it one that does not fit.
  candidate.cost_ns =
      budget.warn ? cost_ns : std::min(cost_ns, std::max(room_ns, candidate.cost_ns));
}

}  // namespace

absl::Status ValidateLease(const CheckRequest& request) {
  const LeaseTerms& lease = *request.lease;
  if (!request.estimated_cost.has_value()) {
    return absl::InvalidArgumentError("estimated_cost: a lease has one, which is the most of it");
  }
  if (absl::Status valid = ValidateCost("lease.least", lease.least); !valid.ok()) return valid;
  if (lease.least == 0) {
    return absl::InvalidArgumentError(
        "lease.least: must be above 0, as a lease of nothing is none");
  }
  if (lease.least > *request.estimated_cost) {
    return absl::InvalidArgumentError(absl::StrCat("lease.least: is ", lease.least,
                                                   ", above the estimated_cost of ",
                                                   *request.estimated_cost, ", its most"));
  }
  if (lease.life < kShortestLease || lease.life > kLongestLease) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lease.time: is ", absl::FormatDuration(lease.life), "; at least ",
        absl::FormatDuration(kShortestLease), ", at most ", absl::FormatDuration(kLongestLease)));
  }
  if (absl::Status valid = ValidateCost("lease.safe_rate", lease.safe_rate); !valid.ok()) {
    return valid;
  }
  if (lease.safe_life < absl::ZeroDuration() || lease.safe_life > SafeRates::kLongest) {
    return absl::InvalidArgumentError(
        absl::StrCat("lease.safe_time: is ", absl::FormatDuration(lease.safe_life),
                     "; at least 0, at most ", absl::FormatDuration(SafeRates::kLongest)));
  }
  return absl::OkStatus();
}

void EnlargeGrant(Decision& decision, const LeaseTerms& lease, double most) {
  CheckAnswer& answer = decision.answer;
  const bool is_charged = answer.reason != Reason::kExempt;
  decision.lease = &lease;
  answer.grant = {.amount = most, .time = lease.life};
  const double pieces =
      is_charged ? PiecesThatFit(decision, most / decision.estimate) : most / decision.estimate;
  answer.predicted_cost *= pieces;
  if (answer.predicted_busy_time.has_value()) *answer.predicted_busy_time *= pieces;
  if (!is_charged) return;
  answer.grant = {.amount = decision.estimate * pieces,
                  .largest_piece = LargestPiece(decision),
                  .reject_ratio = decision.resolved.match.reject_ratio,
                  .one_at_a_time = IsOneAtATime(decision.Candidates()),
                  .time = TimeOf(decision)};
  decision.life_ns = absl::ToInt64Nanoseconds(answer.grant.time);
  for (Candidate& candidate : decision.Candidates()) Enlarge(candidate, pieces);
}

void GrantSafeRate(const Decision& decision, SafeRates& safe_rates) {
  Grant& grant = decision.answer.grant;
  const LeaseTerms& lease = *decision.lease;
  const absl::Duration begins = SafeRates::Begins(grant.time);
  if (lease.safe_rate <= 0 || lease.safe_life <= begins || grant.one_at_a_time) return;
  const int64_t ends_ns = decision.now.monotonic_ns + absl::ToInt64Nanoseconds(grant.time);
  SafeReservation reservation{.target_key = decision.resolved.cost_subject.target,
                              .subject_key = decision.resolved.subject_key,
                              .policy_version = decision.policy.version,
                              .charged_until_ns = ends_ns + absl::ToInt64Nanoseconds(begins),
                              .until_ns = ends_ns + absl::ToInt64Nanoseconds(lease.safe_life),
                              .charges = {}};
  std::vector<double> most;
  for (const Candidate& candidate : decision.Candidates()) {
    const Budget& budget = *candidate.budget;
    if (budget.warn || !candidate.charged || budget.ledger == nullptr || candidate.cost <= 0) {
      continue;
    }
    const double per_unit = candidate.cost / grant.amount;
    if (budget.is_auto || candidate.probes || !(per_unit > 0 && per_unit <= kMaxAmount)) return;
    most.push_back(1e9 / budget.ns_per_unit);
    reservation.charges.push_back({.bucket = ConcurrencyKeyOf(budget, candidate.tag),
                                   .tag = candidate.tag,
                                   .ledger = budget.slot,
                                   .per_unit = per_unit,
                                   .unit = budget.unit});
  }
  grant.safe_rate = decision.answer.permit == 0
                        ? lease.safe_rate  // nothing limits it
                        : safe_rates.Reserve(decision.answer.permit, std::move(reservation), most,
                                             lease.safe_rate);
  if (grant.safe_rate > 0) grant.safe_time = lease.safe_life;
}

void TellGrantAgain(const Resolved& resolved, const std::optional<LivePermit>& permit,
                    const SafeRates& safe_rates, const Now& now, CheckAnswer& answer) {
  answer.grant = Grant{};
  if (!permit.has_value()) return;
  const absl::Span<const Candidate> candidates(resolved.candidates.data(),
                                               static_cast<size_t>(resolved.candidates_used));
  const double amount = std::max(permit->estimate, 0.0);
  answer.grant = {.amount = amount,
                  .largest_piece = amount,
                  .reject_ratio = resolved.match.reject_ratio,
                  .one_at_a_time = IsOneAtATime(candidates),
                  .time = absl::Nanoseconds(permit->expires_at_ns - now.monotonic_ns)};
  const std::optional<SafeReservation> reserved = safe_rates.Find(answer.permit);
  if (!reserved.has_value()) return;
  answer.grant.safe_rate = reserved->rate;
  answer.grant.safe_time = absl::Nanoseconds(reserved->until_ns - permit->expires_at_ns);
}

}  // namespace headgate::engine
