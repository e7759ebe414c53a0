#include "server/serve/rpc/held_leases.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>

#include "server/serve/rpc/decision_proto.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

void FillCharges(const std::vector<engine::LeaseCharge>& from,
                 google::protobuf::RepeatedPtrField<v1::LeaseCharge>& to) {
  for (const engine::LeaseCharge& charge : from) {
    v1::LeaseCharge& one = *to.Add();
    one.set_budget(charge.budget);
    one.set_cost(charge.cost);
    one.set_unit(ToBudgetUnit(charge.unit));
  }
}

void FillLease(const engine::LeaseView& from, v1::HeldLease& to) {
  to.set_amount(from.amount);
  SetDuration(from.granted_ago, *to.mutable_granted_ago());
  if (from.is_overdue()) {
    SetDuration(-from.ends_in, *to.mutable_overdue_for());
  } else {
    SetDuration(from.ends_in, *to.mutable_ends_in());
  }
  FillCharges(from.charges, *to.mutable_charges());
}

}  // namespace

std::vector<std::string> TargetsElsewhere(Fleet* fleet) {
  return fleet == nullptr ? std::vector<std::string>{} : cluster::TargetsElsewhere(fleet->View());
}

void FillHolder(const engine::LeaseHolderView& from, v1::LeaseHolder& to) {
  to.set_target(from.target);
  to.set_identity(from.identity);
  to.set_leases(from.sums.leases);
  to.set_amount(from.sums.amount);
  if (from.sums.leases > 0) SetDuration(from.latest_end, *to.mutable_ends_in());
  FillCharges(from.charges, *to.mutable_charges());
  to.set_overdue(from.sums.overdue);
  to.set_overdue_amount(from.sums.overdue_amount);
  for (const engine::LeaseView& lease : from.leases) FillLease(lease, *to.add_held());
}

void FillLeases(const engine::Engine& engine, Fleet* fleet, Now now,
                google::protobuf::RepeatedPtrField<v1::TargetStatus>& targets) {
  std::map<std::string, v1::TargetStatus*> by_name;
  for (v1::TargetStatus& target : targets) by_name[target.name()] = &target;
  const engine::LeaseQuery all{.not_on = TargetsElsewhere(fleet),
                               .most_holders = std::numeric_limits<size_t>::max(),
                               .most_leases = 1};
  const engine::LeasesView view = engine.ReadLeases(all, now);
  for (const engine::LeasesOfTarget& from : view.targets) {
    const auto target = by_name.find(from.target);
    if (target == by_name.end() || from.sums.leases + from.sums.overdue == 0) continue;
    v1::LeasesStatus& to = *target->second->mutable_leases();
    to.set_leases(from.sums.leases);
    to.set_holders(from.sums.holders);
    to.set_amount(from.sums.amount);
    to.set_overdue(from.sums.overdue);
    to.set_overdue_amount(from.sums.overdue_amount);
  }
  // Who holds most comes first.
  for (const engine::LeaseHolderView& holder : view.holders) {
    const auto target = by_name.find(holder.target);
    if (target == by_name.end()) continue;
    v1::LeasesStatus& leases = *target->second->mutable_leases();
    if (leases.most_size() < kHoldersOfStatus) FillHolder(holder, *leases.add_most());
  }
}

void FillLeasesHeld(const engine::Engine& engine, const engine::Explanation& explanation, Now now,
                    v1::ExplainResponse& response) {
  const uint64_t key = explanation.answer.subject_key;
  if (key == 0) return;
  const engine::LeasesView view = engine.ReadLeases({.subject_key = key, .most_holders = 1}, now);
  if (view.holders.empty()) return;
  const engine::LeaseHolderView& holder = view.holders[0];
  v1::LeasesHeld& to = *response.mutable_leases();
  to.set_leases(holder.sums.leases);
  to.set_amount(holder.sums.amount);
  if (holder.sums.leases > 0) SetDuration(holder.latest_end, *to.mutable_ends_in());
  to.set_overdue(holder.sums.overdue);
  to.set_overdue_amount(holder.sums.overdue_amount);
}

}  // namespace headgate::rpc
