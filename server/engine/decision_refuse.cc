// What a decision needs when something refuses, or would: and the limits that few budgets have.

#include <algorithm>
#include <string>

#include "server/engine/decision.h"

namespace headgate::engine {
namespace {

// When to ask again where no limit says: a gate whose next sample is not announced, a lost roll, a
// permit that somebody will report sometime.
constexpr absl::Duration kAskAgain = absl::Seconds(1);
constexpr absl::Duration kAskAgainForPermit = absl::Milliseconds(100);
constexpr absl::Duration kLeast = absl::Nanoseconds(1);

// When to ask again where health, or a controller, has to say something else first.
absl::Duration UntilNextSample(const Health& health, const Now& now) {
  const int64_t wait_ns = health.next_sample_at_ns - now.monotonic_ns;
  return wait_ns > 0 ? absl::Nanoseconds(wait_ns) : kAskAgain;
}

}  // namespace

int64_t CountOutstanding(const Tables& tables, const Budget& budget, uint64_t tag, int64_t now_ns) {
  const uint64_t key = ConcurrencyKeyOf(budget, tag);
  const uint32_t cell = tables.concurrency.Find(key);
  if (cell == ConcurrencyTable::kNone) return 0;
  if (tables.concurrency.EarliestExpiry(key) <= now_ns) {
    tables.permits.Sweep(cell, now_ns, now_ns + tables.permit_ttl_ns / 2);
  }
  return tables.concurrency.Count(key);
}

void Decision::Deny(Reason reason) {
  answer_.verdict = Verdict::kDenied;
  answer_.reason = reason;
  denied_ = true;
}

bool Decision::ExamineRules(double dice) {
  const Match& match = resolved_.match;
  if (match.exempt != kNoRule) {
    answer_.reason = Reason::kExempt;
    return true;
  }
  const bool denies = match.deny != kNoRule;
  if (!denies && (match.reject == kNoRule || dice >= match.reject_ratio)) return false;
  Violation violation;
  violation.rule = denies ? match.deny : match.reject;
  const absl::Time wall = now_.wall();
  violation.retry_after = std::max(policy_.rules.AppliesUntil(violation.rule, wall) - wall, kLeast);
  if (!denies) {
    violation.observed = dice;
    violation.limit_value = match.reject_ratio;
    if (match.reject_ratio < 1) violation.retry_after = std::min(violation.retry_after, kAskAgain);
  }
  Deny(denies ? Reason::kDenyRule : Reason::kRejectRatio);
  answer_.retry_after = violation.retry_after;
  answer_.violations.push_back(violation);
  return true;
}

void Decision::ViolateGate(const Health& health, uint32_t profile, uint32_t rule, uint32_t budget,
                           bool warn) {
  Violation& violation = answer_.violations.emplace_back();
  violation.limit = Limit::kHealth;
  violation.profile = profile;
  violation.rule = rule;
  violation.budget = budget;
  violation.warn = warn;
  violation.signal = health.signal;
  violation.observed = static_cast<double>(health.pressure);
  violation.limit_value = 1;
  violation.health_status = health.status;
  if (health.sampled_at_ns != 0) {
    violation.sample_age =
        absl::Nanoseconds(std::max<int64_t>(now_.monotonic_ns - health.sampled_at_ns, 0));
  }
  violation.unread = health.unread;
  violation.retry_after = UntilNextSample(health, now_);
  denied_ |= !warn;
}

bool Decision::ExamineOtherLimits(Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  if (budget.blocked.has_value()) {
    Violate(candidate, *budget.blocked, candidate.cost, 0, absl::InfiniteDuration());
  }
  if (!budget.AllowsCost(candidate.cost)) {
    Violate(candidate, Limit::kMaxCost, candidate.cost, budget.max_cost, absl::InfiniteDuration());
  }
  if (budget.limits_concurrency) ExamineConcurrency(candidate);
  if (budget.is_auto && !ExamineAuto(candidate)) return false;
  return !budget.blocked.has_value();
}

bool Decision::ExamineAuto(Candidate& candidate) {
  constexpr double kShortestChunk = 0.005, kBestChunk = 0.02, kLongestChunk = 0.05;  // busy seconds
  constexpr double kMaxScale = 16;
  const Budget& budget = *candidate.budget;
  budget.ledger->CountCheck();
  const double cost = candidate.cost;
  if (learnt_ && cost > 0 && (cost < kShortestChunk || cost > kLongestChunk)) {
    answer_.chunk_scale = std::clamp(kBestChunk / cost, 1 / kMaxScale, kMaxScale);
  }
  candidate.cost = std::min(cost, budget.max_charged);
  const Health health = budget.clock->Read(now_.monotonic_ns).health;
  if (!health.gate_shut) return true;
  Violate(candidate, Limit::kProbe, candidate.cost, 0, UntilNextSample(health, now_));
  return false;
}

void Decision::ExamineConcurrency(Candidate& candidate) {
  const int64_t limit = candidate.budget->max_concurrency;
  if (tables_.concurrency.Count(ConcurrencyKey(candidate)) < limit) return;
  const int64_t count =
      CountOutstanding(tables_, *candidate.budget, candidate.tag, now_.monotonic_ns);
  if (count >= limit) ViolateConcurrency(candidate, count);
}

void Decision::Violate(Candidate& candidate, Limit limit, double observed, double limit_value,
                       absl::Duration retry_after) {
  const Budget& budget = *candidate.budget;
  Violation& violation = answer_.violations.emplace_back();
  violation.budget = budget.spec;
  violation.rule = candidate.rule;
  violation.limit = limit;
  violation.warn = budget.warn;
  violation.level = static_cast<int8_t>(BucketLevel(budget, resolved_.identity));
  violation.profile = budget.profile;
  if (budget.ledger != nullptr) {
    const Health health = budget.clock->Read(now_.monotonic_ns).health;
    violation.signal = health.speed < 1 ? health.signal : Violation::kNoSignal;
  }
  violation.observed = observed;
  violation.limit_value = limit_value;
  violation.retry_after = retry_after;
  candidate.skip = true;
  denied_ |= !budget.warn;
}

void Decision::ViolateConcurrency(Candidate& candidate, int64_t count) {
  Violate(candidate, Limit::kMaxConcurrency, static_cast<double>(count),
          static_cast<double>(candidate.budget->max_concurrency),
          candidate.budget->max_concurrency == 0 ? absl::InfiniteDuration() : kAskAgainForPermit);
}

void Decision::ViolateBurst(Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  Violate(candidate, Limit::kBurst, budget.ledger->ToUnits(candidate.debt_ns()) + candidate.cost,
          budget.ledger->ToUnits(budget.burst_ns), RoomAt(candidate).in);
}

// How long a debt takes at speed 0 is not known, and it is not for ever: speeds change with
// samples.
Decision::Room Decision::RoomAt(const Candidate& candidate) const {
  const Budget& budget = *candidate.budget;
  if (candidate.cost_ns > budget.burst_ns) return {absl::InfiniteDuration()};
  const int64_t excess_ns = candidate.debt_ns() - (budget.burst_ns - candidate.cost_ns);
  if (excess_ns <= 0) return {};
  const VirtualClock::Reading reading = budget.clock->Read(now_.monotonic_ns);
  const int64_t room_at_ns = candidate.now_ns + excess_ns;
  const int64_t at = reading.RealTimeOf(room_at_ns);
  // The rate of an auto budget holds until its controller thinks again.
  const int64_t changes_at = reading.health.next_sample_at_ns;
  const bool changes = budget.is_auto && changes_at > now_.monotonic_ns && changes_at < at;
  if (at != VirtualClock::kNever && !changes) {
    return {std::max(absl::Nanoseconds(at - now_.monotonic_ns), kLeast)};
  }
  // Virtual time has an end, beyond which nothing drains. An auto budget turns nobody away for
  // good.
  if (room_at_ns >= VirtualClock::kHorizonNs && !budget.is_auto) {
    return {absl::InfiniteDuration()};
  }
  return {UntilNextSample(reading.health, now_), false};
}

void Decision::DenyByViolations() {
  Reason reason = Reason::kCapacity;
  answer_.retry_after = kLeast;
  for (const Violation& violation : answer_.violations) {
    if (violation.warn) continue;
    answer_.retry_after = std::max(answer_.retry_after, violation.retry_after);
    Reason stage = Reason::kCapacity;
    if (violation.limit == Limit::kHealth) stage = Reason::kHealth;
    if (violation.limit == Limit::kMaxCost) stage = Reason::kMaxCost;
    if (violation.limit == Limit::kMaxConcurrency) stage = Reason::kMaxConcurrency;
    reason = std::min(reason, stage);  // in the order of the stages
  }
  Deny(reason);
}

double Decision::DefaultCost() const {
  const auto& candidates = resolved_.candidates;
  double cost = resolved_.candidates_used == 0 ? 1 : 0;
  for (int i = 0; i < resolved_.candidates_used; ++i) {
    cost = std::max(cost, candidates[i].budget->default_cost);
  }
  return cost;
}

Decision::Charged Decision::ChargeRarely(Candidate& candidate) {
  if (candidate.budget->limits_concurrency) {
    const Charged acquired = AcquireConcurrency(candidate);
    if (acquired != Charged::kYes) return acquired;
  }
  if (candidate.budget->ledger == nullptr) return Charged::kYes;
  candidate.refunded_ns = candidate.budget->ledger->Refunded(candidate.tag);
  const Charged charged = ChargeDebt(candidate);
  if (charged != Charged::kYes && candidate.concurrency != ConcurrencyTable::kNone) {
    tables_.concurrency.Release(candidate.concurrency);
  }
  return charged;
}

Decision::Charged Decision::ChargeDebt(Candidate& candidate) {
  const Budget& budget = *candidate.budget;
  const ChargeResult result =
      budget.ledger->Charge(candidate.tag, candidate.now_ns, candidate.cost_ns, budget.burst_ns);
  candidate.empties_at_ns = result.empties_at;
  if (result.outcome == ChargeOutcome::kCharged) return Charged::kYes;
  if (result.outcome == ChargeOutcome::kMoved) return Charged::kMoved;
  ViolateBurst(candidate);
  return Charged::kRefused;
}

Decision::Charged Decision::AcquireConcurrency(Candidate& candidate) {
  const int64_t limit = candidate.budget->max_concurrency;
  switch (tables_.concurrency.Acquire(ConcurrencyKey(candidate), limit,
                                      now_.monotonic_ns + tables_.permit_ttl_ns,
                                      candidate.concurrency)) {
    case ConcurrencyTable::Outcome::kAcquired:
      return Charged::kYes;
    case ConcurrencyTable::Outcome::kTableFull:
      return Charged::kTableFull;
    case ConcurrencyTable::Outcome::kAtLimit:
      break;
  }
  candidate.concurrency = ConcurrencyTable::kNone;
  ViolateConcurrency(candidate, limit);  // overtaken since Examine
  return Charged::kRefused;
}

void Decision::UndoLast(int count) {
  for (const Candidate& candidate : Candidates()) {
    if (!candidate.charged) continue;
    if (candidate.concurrency != ConcurrencyTable::kNone) {
      tables_.concurrency.Release(candidate.concurrency);
    }
    if (candidate.budget->ledger == nullptr) continue;
    candidate.budget->ledger->Undo({candidate.tag, candidate.empties_at_ns, candidate.refunded_ns},
                                   count * candidate.cost_ns);
  }
}

Decision::Outcome Decision::Rollback(Charged why) {
  UndoLast(1);
  if (why == Charged::kMoved) return Outcome::kMoved;
  if (why == Charged::kTableFull) return Outcome::kNoPermit;
  DenyByViolations();
  return Outcome::kDecided;
}

std::vector<BucketView> Decision::View(const CheckRequest& request) {
  std::vector<BucketView> views;
  for (Candidate& candidate : Candidates()) views.push_back(ViewOne(candidate, request));
  return views;
}

BucketView Decision::ViewOne(Candidate& candidate, const CheckRequest& request) {
  const Budget& budget = *candidate.budget;
  const BudgetSpec& spec = policy_.budget_specs[budget.spec];
  BucketView view;
  view.budget = budget.spec;
  view.rule = candidate.rule;
  view.level = BucketLevel(budget, resolved_.identity);
  if (view.level > 0) view.bucket = std::string(resolved_.identity.Level(view.level));
  for (const Tag& tag : request.tags) {
    if (budget.split == SplitKind::kTag && tag.key == budget.split_tag) view.bucket = tag.value;
  }
  view.max_cost = spec.max_cost;
  view.max_concurrency = spec.max_concurrency;
  if (budget.limits_concurrency)
    view.outstanding =
        CountOutstanding(tables_, *candidate.budget, candidate.tag, now_.monotonic_ns);
  const bool too_costly = !budget.AllowsCost(candidate.cost);
  candidate.cost = std::min(candidate.cost, budget.max_charged);
  view.cost = candidate.cost;
  if (budget.ledger != nullptr) {
    candidate.cost_ns = budget.ledger->ToNs(candidate.cost);
    ReadDebt(candidate);  // a rule may have decided before anyone looked
    if (candidate.empties_at_ns == Bucket::kMoved) candidate.empties_at_ns = 0;
    view.speed = budget.clock->Read(now_.monotonic_ns).health.speed;
    const std::optional<double> rate = RateOf(spec, policy_.target_specs[resolved_.target]);
    view.rate = rate.value_or(view.speed / Ledger::kAutoSpeed);
    if (!rate.has_value()) view.speed = 1;  // the speed is the rate
    view.burst = budget.ledger->ToUnits(budget.burst_ns);
    view.debt = budget.ledger->ToUnits(candidate.debt_ns());
    const Room room = RoomAt(candidate);
    view.room_in = room.in;
    view.ask_again = !room.known;
  }
  if (view.outstanding >= budget.max_concurrency) {
    view.room_in = std::max(view.room_in, kAskAgainForPermit);
    view.ask_again = true;
  }
  if (budget.blocked.has_value() || too_costly || budget.max_concurrency == 0) {
    view.room_in = absl::InfiniteDuration();
  }
  view.ask_again &= view.room_in != absl::InfiniteDuration();
  return view;
}

}  // namespace headgate::engine
