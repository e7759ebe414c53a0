#include "tests/sim/leases/observer.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"

namespace headgate::leases {
Observer::Observer(Timeline& timeline, const ModelPolicy& policy)
    : timeline_(timeline), policy_(policy), targets_(kTargets.size(), TargetReference(policy)) {}

void Observer::SetPolicy(const ModelPolicy& policy) {
  policy_ = policy;
  for (TargetReference& target : targets_) target.SetPolicy(policy, timeline_.now_ns());
}

void Observer::SetHealth(int target, double speed, bool gate_shut) {
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
  if (asked.team != kPaid && std::abs(lease->predicted - 1) > 1e-9) {
    timeline_.Violate(absl::StrCat("predicts ", lease->predicted, " of what costs 1"));
  }
  TargetReference& target = targets_[static_cast<size_t>(asked.target)];
  lease->charge = target.Admit(asked.identity, timeline_.now_ns());
  if (asked.team == kDoors) {
    CheckPlace(*lease);
    with_places_[static_cast<size_t>(asked.target)].push_back(lease);
  }
  if (!by_permit_.emplace(answer.permit, lease).second) {
    timeline_.Violate(absl::StrCat("gives permit ", answer.permit, " a second time"));
  }
  in_order_.push_back(lease);
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
  if (target.excess() > kRounding) {
    timeline_.Violate(absl::StrCat("a bucket has admitted ", target.excess(),
                                   " above its burst and what drained, to ", lease->identity));
  }
}

void Observer::Settled(uint64_t permit, engine::ReportOutcome outcome, double told_cost) {
  LeaseRecord* const lease = Find(permit);
  if (lease == nullptr) return;
  if (outcome == engine::ReportOutcome::kSettled) {
    if (lease->is_lost) timeline_.Violate("settles a lease that nobody can know");
    if (lease->settled_at != 0) timeline_.Violate("settles a lease twice");
    lease->settled_at = timeline_.Count();
    ++settled_;
    counted_ += lease->pieces;
    if (told_cost >= 0) {
      targets_[static_cast<size_t>(lease->target)].LowerTo(lease->charge, told_cost);
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
  return {.at = timeline_.Count(),
          .reference = targets_[static_cast<size_t>(target)].Save(timeline_.now_ns())};
}

void Observer::GoOnFrom(int target, const Copy& copy, Knows knows, int64_t elapsed_ns) {
  for (const SharedLease& lease : in_order_) {
    if (lease->target != target) continue;
    if (lease->granted_at > copy.at) {
      lease->is_lost = true;
    } else if (lease->settled_at > copy.at) {
      lease->settled_at = 0;
      std::vector<SharedLease>& others = with_places_[static_cast<size_t>(target)];
      const bool is_there = std::find(others.begin(), others.end(), lease) != others.end();
      if (lease->has_place && !is_there) others.push_back(lease);
    }
  }
  if (knows == Knows::kOnlyTheCopy) {
    targets_[static_cast<size_t>(target)].GoOnFrom(copy.reference, elapsed_ns, timeline_.now_ns());
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
