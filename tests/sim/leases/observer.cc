#include "tests/sim/leases/observer.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"

namespace headgate::leases {
namespace {

constexpr int64_t kSafeStepNs = 50'000'000;

bool IsReserved(const LeaseRecord& lease, int64_t now_ns) {
  return lease.settled_at == 0 && !lease.is_lost && now_ns < lease.safe_until_ns;
}

}  // namespace

Observer::Observer(Timeline& timeline, const ModelPolicy& policy)
    : timeline_(timeline), policy_(policy), targets_(kTargets.size(), TargetReference(policy)) {}

void Observer::SetPolicy(const ModelPolicy& policy) {
  for (size_t i = 0; i < kTargets.size(); ++i) ChargeSafeRates(static_cast<int>(i));
  policy_ = policy;
  for (TargetReference& target : targets_) target.SetPolicy(policy, timeline_.now_ns());
}

void Observer::SetHealth(int target, double speed, bool gate_shut) {
  ChargeSafeRates(target);
  targets_[static_cast<size_t>(target)].SetSpeed(speed, timeline_.now_ns());
  gates_shut_[static_cast<size_t>(target)] = gate_shut;
}

LeaseRecord* Observer::Find(uint64_t permit) {
  const auto found = by_permit_.find(permit);
  return found == by_permit_.end() ? nullptr : found->second.get();
}

void Observer::CheckGrant(const AskedFor& asked, const engine::CheckAnswer& answer) {
  const Standing standing = policy_.StandingOf(asked.team);
  if (standing == Standing::kPaused) timeline_.Violate("admits one that is paused");
  const bool is_exempt = standing == Standing::kExempt;
  // A gate is shut for whom a budget limits.
  const bool is_limited = std::any_of(policy_.budgets().begin(), policy_.budgets().end(),
                                      [](const ModelBudget& budget) { return !budget.warns; });
  if (!is_exempt && is_limited && gates_shut_[static_cast<size_t>(asked.target)]) {
    timeline_.Violate("admits through a shut gate");
  }
  if ((answer.permit == 0) != is_exempt) timeline_.Violate("a permit without a charge, or none");
  if (asked.least == 0) return;
  const engine::Grant& grant = answer.grant;
  if (grant.amount < asked.least - kRounding || grant.amount > asked.most + kRounding) {
    timeline_.Violate(
        absl::StrCat("grants ", grant.amount, " of ", asked.least, " to ", asked.most));
  }
  const bool limits_pieces = !is_exempt && !policy_.budgets()[2].warns && asked.team != kPaid;
  if (limits_pieces && grant.largest_piece > policy_.max_cost() + kRounding) {
    timeline_.Violate(absl::StrCat("lets a piece cost ", grant.largest_piece));
  }
  if (grant.reject_ratio != (standing == Standing::kRejected ? ModelPolicy::kRejectRatio : 0)) {
    timeline_.Violate(absl::StrCat("rejects ", grant.reject_ratio));
  }
}

void Observer::CheckPlace(LeaseRecord& lease) {
  std::vector<SharedLease>& others = with_places_[static_cast<size_t>(lease.target)];
  std::erase_if(others, [&](const SharedLease& other) {
    return other->settled_at != 0 || other->is_lost || other->ends_ns <= timeline_.now_ns();
  });
  if (static_cast<int64_t>(others.size()) >= policy_.places()) {
    timeline_.Violate(absl::StrCat("gives ", others.size() + 1, " places of ", policy_.places()));
  }
  lease.has_place = true;
}

SharedLease Observer::Granted(const AskedFor& asked, const engine::CheckAnswer& answer) {
  if (answer.repeated) {
    const auto found = by_permit_.find(answer.permit);
    if (found != by_permit_.end()) {
      if (answer.grant.amount > found->second->amount + kRounding) {
        timeline_.Violate("repeats more than it granted");
      }
      ++found->second->repeats;
      return found->second;
    }
    if (answer.permit != 0) timeline_.Violate("repeats what it never granted");
  }
  // Of one that is charged to nothing nobody knows what it was.
  if (!answer.repeated) CheckGrant(asked, answer);
  const bool is_lease = asked.least > 0;
  auto lease = std::make_shared<LeaseRecord>();
  lease->permit = answer.permit;
  lease->identity = asked.identity;
  lease->target = asked.target;
  lease->amount = is_lease ? answer.grant.amount : asked.most;
  lease->granted_at = timeline_.Count();
  lease->ends_ns = timeline_.now_ns() +
                   absl::ToInt64Nanoseconds(is_lease ? answer.grant.time : absl::Minutes(1));
  ++granted_;
  if (answer.permit == 0) return lease;
  lease->predicted = answer.predicted_cost / lease->amount;
  // What no budget would ever admit is charged no more than it could, and measured.
  if (answer.probe) {
    double most = answer.probe.most;
    for (const ModelBudget& budget : policy_.budgets()) most = std::min(most, budget.burst);
    lease->predicted = std::min(lease->predicted, most / lease->amount);
  }
  if (asked.team != kPaid && std::abs(lease->predicted - 1) > 1e-6) {
    timeline_.Violate(absl::StrCat("predicts ", lease->predicted, " of what costs 1"));
  }
  TargetReference& target = targets_[static_cast<size_t>(asked.target)];
  ChargeSafeRates(asked.target);
  lease->charge =
      target.Admit(asked.identity, timeline_.now_ns(),
                   [&](const BucketReference* bucket) { return SafeStepOf(asked.target, bucket); });
  if (asked.team == kDoors) {
    CheckPlace(*lease);
    with_places_[static_cast<size_t>(asked.target)].push_back(lease);
  }
  if (!by_permit_.emplace(answer.permit, lease).second) {
    timeline_.Violate(absl::StrCat("gives permit ", answer.permit, " a second time"));
  }
  in_order_.push_back(lease);
  if (is_lease && answer.grant.safe_rate > 0) Reserve(asked, answer.grant, lease);
  // Of a Check all is admitted at once.
  if (!is_lease) Spent(lease, lease->amount, Clock::kRight);
  return lease;
}

void Observer::Spent(const SharedLease& lease, double cost, Clock clock) {
  if (lease == nullptr) return timeline_.Violate("a piece of no lease is admitted");
  if (clock == Clock::kRight && timeline_.now_ns() >= lease->ends_ns) {
    timeline_.Violate(absl::StrCat("a piece begins ", timeline_.now_ns() - lease->ends_ns,
                                   " ns after its lease's end"));
  }
  if (lease->spent > lease->amount + kRounding) {
    timeline_.Violate(absl::StrCat("spends ", lease->spent, " of ", lease->amount));
  }
  TargetReference& target = targets_[static_cast<size_t>(lease->target)];
  target.Add(lease->charge, cost * lease->predicted);
  CheckExcess(*lease);
}

void Observer::CheckExcess(const LeaseRecord& lease) {
  const double excess = targets_[static_cast<size_t>(lease.target)].excess();
  if (excess <= kRounding) return;
  timeline_.Violate(absl::StrCat("a bucket has admitted ", excess,
                                 " above its burst and what drained, to ", lease.identity));
}

void Observer::Reserve(const AskedFor& asked, const engine::Grant& grant,
                       const SharedLease& lease) {
  lease->safe_rate = grant.safe_rate;
  lease->safe_begins_ns = lease->ends_ns + absl::ToInt64Nanoseconds(grant.time) / 4;
  lease->safe_until_ns = lease->ends_ns + absl::ToInt64Nanoseconds(grant.safe_time);
  lease->safe_charged_ns = lease->safe_begins_ns;
  if (asked.team == kDoors) timeline_.Violate("reserves a safe rate where there are places");
  std::vector<SharedLease>& all = with_safe_rates_[static_cast<size_t>(asked.target)];
  all.push_back(lease);
  for (const auto& [bucket, place] : lease->charge) {
    double sum = 0;
    for (const SharedLease& other : all) {
      if (!IsReserved(*other, timeline_.now_ns())) continue;
      for (const auto& [others, at] : other->charge) {
        if (others == bucket) sum += other->safe_rate * other->predicted;
      }
    }
    const double rate = targets_[static_cast<size_t>(asked.target)].RateOf(bucket);
    if (sum > rate + kRounding) {
      timeline_.Violate(absl::StrCat("reserves ", sum, " a second of ", rate));
    }
  }
}

double Observer::SafeStepOf(int target, const BucketReference* bucket) const {
  double sum = 0;
  for (const SharedLease& lease : with_safe_rates_[static_cast<size_t>(target)]) {
    if (lease->settled_at != 0 || lease->safe_begins_ns > timeline_.now_ns()) continue;
    for (const auto& [charged, place] : lease->charge) {
      if (charged == bucket) sum += lease->safe_rate * lease->predicted;
    }
  }
  return sum * 1e-9 * static_cast<double>(kSafeStepNs);
}

void Observer::ChargeSafeRates(int target) {
  std::vector<SharedLease>& all = with_safe_rates_[static_cast<size_t>(target)];
  for (;;) {
    std::erase_if(
        all, [&](const SharedLease& lease) { return !IsReserved(*lease, lease->safe_charged_ns); });
    const auto next =
        std::min_element(all.begin(), all.end(), [](const SharedLease& a, const SharedLease& b) {
          return a->safe_charged_ns < b->safe_charged_ns;
        });
    if (next == all.end() || (*next)->safe_charged_ns > timeline_.now_ns()) return;
    LeaseRecord& lease = **next;
    const int64_t to_ns = std::min(lease.safe_charged_ns + kSafeStepNs, lease.safe_until_ns);
    const double seconds = 1e-9 * static_cast<double>(to_ns - lease.safe_charged_ns);
    lease.safe_steps.push_back({.charge = targets_[static_cast<size_t>(target)].AdmitWithoutLimit(
                                    lease.charge, lease.safe_charged_ns),
                                .left = lease.safe_rate * seconds});
    lease.safe_charged_ns = to_ns;
  }
}

void Observer::SpentSafely(const SharedLease& lease, double cost) {
  const int64_t now_ns = timeline_.now_ns();
  if (now_ns < lease->safe_begins_ns || now_ns >= lease->safe_until_ns) {
    timeline_.Violate("a piece at a safe rate begins before or after its time");
  }
  if (lease->settled_at != 0) timeline_.Violate("a safe rate is used that is not charged any more");
  ChargeSafeRates(lease->target);
  safely_ += cost;
  TargetReference& target = targets_[static_cast<size_t>(lease->target)];
  double left = cost;
  while (left > 0 && !lease->safe_steps.empty()) {
    LeaseRecord::SafeStep& step = lease->safe_steps.front();
    const double part = std::min(left, step.left);
    if (!lease->is_charged_late) target.Add(step.charge, part * lease->predicted);
    left -= part;
    step.left -= part;
    if (step.left <= 0) lease->safe_steps.pop_front();
  }
  if (left > kRounding && !lease->is_lost) {
    timeline_.Violate(absl::StrCat("spends ", left, " more at a safe rate than was charged"));
  }
  CheckExcess(*lease);
}

void Observer::Settled(uint64_t permit, engine::ReportOutcome outcome, double told_cost) {
  LeaseRecord* const lease = Find(permit);
  if (lease == nullptr) return;
  ChargeSafeRates(lease->target);
  if (outcome == engine::ReportOutcome::kSettled) {
    if (lease->is_lost) timeline_.Violate("settles a lease that nobody can know");
    if (lease->settled_at != 0) timeline_.Violate("settles a lease twice");
    lease->settled_at = timeline_.Count();
    ++settled_;
    counted_ += lease->pieces;
    if (told_cost >= 0) {
      // What was spent at its safe rate was not charged to it.
      const double spent = lease->spent + lease->safe_spent;
      const double share = spent > 0 ? lease->spent / spent : 1;
      targets_[static_cast<size_t>(lease->target)].LowerTo(lease->charge, share * told_cost);
    }
    return;
  }
  const bool is_forgotten = outcome == engine::ReportOutcome::kForgotten;
  if (lease->settled_at == 0 && !is_forgotten && !lease->is_lost) {
    timeline_.Violate("says that a lease is settled which is not");
  }
}

void Observer::NotKnown(uint64_t permit) {
  LeaseRecord* const lease = Find(permit);
  if (lease == nullptr || lease->is_lost || lease->settled_at != 0) return;
  // What has long expired need not be known.
  if (timeline_.now_ns() < lease->ends_ns + 10'000'000'000) {
    timeline_.Violate(absl::StrCat("does not know lease ", permit, " of ", lease->identity));
  }
}

void Observer::Withdrawn(uint64_t permit) {
  LeaseRecord* const lease = Find(permit);
  if (lease == nullptr || lease->is_lost || lease->repeats > 0 || lease->settled_at != 0) return;
  lease->settled_at = timeline_.Count();
}

Observer::Copy Observer::Save(int target) {
  ChargeSafeRates(target);
  return {.at = timeline_.Count(),
          .reference = targets_[static_cast<size_t>(target)].Save(timeline_.now_ns())};
}

void Observer::GoOnFrom(int target, const Copy& copy, const GoingOn& how) {
  ChargeSafeRates(target);
  std::vector<SharedLease>& with_places = with_places_[static_cast<size_t>(target)];
  for (const SharedLease& lease : in_order_) {
    if (lease->target != target) continue;
    if (how.elapsed == Elapsed::kNotAll) lease->is_charged_late = true;
    if (lease->granted_at > copy.at) {
      lease->is_lost = true;
    } else if (lease->settled_at > copy.at) {
      lease->settled_at = 0;
      const bool is_there =
          std::find(with_places.begin(), with_places.end(), lease) != with_places.end();
      if (lease->has_place && !is_there) with_places.push_back(lease);
    }
  }
  TargetReference& reference = targets_[static_cast<size_t>(target)];
  if (how.knows == Knows::kOnlyTheCopy) {
    reference.GoOnFrom(copy.reference, how.elapsed_ns, timeline_.now_ns());
  } else {
    reference.LoseUnlimited(copy.reference);
  }
}

void Observer::Trim() {
  while (!in_order_.empty() && in_order_.front()->ends_ns < timeline_.now_ns() - kRemembered_ns) {
    by_permit_.erase(in_order_.front()->permit);
    in_order_.pop_front();
  }
  for (TargetReference& target : targets_) target.Trim();
}

double Observer::excess() const {
  double most = targets_.front().excess();
  for (const TargetReference& target : targets_) most = std::max(most, target.excess());
  return most;
}

}  // namespace headgate::leases
