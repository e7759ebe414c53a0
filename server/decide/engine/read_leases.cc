// Reading the leases of all, out of the permits. What is read belongs to no single instant: a lease
// that is replaced meanwhile may be there twice, or not at all.
//
// Memory is as much as there are holders, and for each a few of its leases.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/decide/engine/engine_views.h"
#include "server/decide/engine/lease_permit.h"
#include "server/decide/engine/lease_view.h"

namespace headgate::engine {
namespace {

struct Holder {
  LeaseHolderView view;
  bool fits = true;                               // the query's identity
  int64_t latest_end_ns = 0;                      // of those that are not overdue
  absl::flat_hash_map<uint32_t, double> charges;  // by ledger
  std::vector<LeasePermit> leases;                // at most twice as many as are shown
};

bool IsAtOrBelow(std::string_view identity, std::string_view level) {
  if (!identity.ends_with(level)) return false;
  return identity.size() == level.size() || identity[identity.size() - level.size() - 1] == ':';
}

void Add(const LeaseSums& one, LeaseSums& all) {
  all.holders += one.holders;
  all.leases += one.leases;
  all.amount += one.amount;
  all.overdue += one.overdue;
  all.overdue_amount += one.overdue_amount;
}

bool HoldsMore(const LeaseHolderView& a, const LeaseHolderView& b) {
  if (a.sums.amount != b.sums.amount) return a.sums.amount > b.sums.amount;
  if (a.sums.overdue != b.sums.overdue) return a.sums.overdue > b.sums.overdue;
  return std::tie(a.target, a.identity) < std::tie(b.target, b.identity);
}

class LeaseReader {
 public:
  LeaseReader(const EngineCore& core, const Policy& policy, const LeaseQuery& query, const Now& now)
      : core_(core), policy_(policy), query_(query), now_(now) {
    for (const Target& target : policy.targets) {
      const auto& not_on = query.not_on;
      if (!query.target.empty() && target.name != query.target) continue;
      if (std::find(not_on.begin(), not_on.end(), target.name) != not_on.end()) continue;
      targets_.emplace(target.key, &target);
    }
  }

  void Take(const LeasePermit& lease) {
    if (query_.subject_key != 0 && lease.subject_key != query_.subject_key) return;
    const auto target = targets_.find(lease.target_key);
    if (target == targets_.end()) return;
    const bool overdue = lease.expires_at_ns <= now_.monotonic_ns;
    const int64_t over_ns = now_.monotonic_ns - lease.expires_at_ns;
    if (overdue && over_ns > absl::ToInt64Nanoseconds(LeaseQuery::kOverdueShown)) return;
    Holder& holder = HolderOf(target->second->name, lease);
    if (!holder.fits) return;
    LeaseSums& sums = holder.view.sums;
    if (overdue) {
      ++sums.overdue;
      sums.overdue_amount += lease.amount;
    } else {
      sums.holders = 1;
      ++sums.leases;
      sums.amount += lease.amount;
      holder.latest_end_ns = std::max(holder.latest_end_ns, lease.expires_at_ns);
      for (const auto& charge : lease.charges) holder.charges[charge.ledger] += charge.cost;
    }
    if (query_.most_leases == 0) return;
    holder.leases.push_back(lease);
    if (holder.leases.size() >= 2 * query_.most_leases) KeepLatest(holder.leases);
  }

  LeasesView Result() {
    LeasesView view;
    absl::flat_hash_map<std::string, LeaseSums> sums;
    for (auto& [key, holder] : holders_) {
      if (!holder.fits) continue;
      Add(holder.view.sums, sums[holder.view.target]);
      view.holders.push_back(std::move(holder.view));
      Finish(holder, view.holders.back());
    }
    view.holders_in_all = view.holders.size();
    std::sort(view.holders.begin(), view.holders.end(), HoldsMore);
    if (view.holders.size() > query_.most_holders) view.holders.resize(query_.most_holders);
    for (const Target& target : policy_.targets) {
      if (targets_.contains(target.key)) view.targets.push_back({target.name, sums[target.name]});
    }
    return view;
  }

 private:
  Holder& HolderOf(const std::string& target, const LeasePermit& lease) {
    const auto [found, is_new] = holders_.try_emplace({lease.target_key, lease.subject_key});
    Holder& holder = found->second;
    if (!is_new) return holder;
    holder.view.target = target;
    if (lease.subject_key != 0) holder.view.identity = core_.lease_names.Find(lease.subject_key);
    holder.fits = query_.identity.empty() || IsAtOrBelow(holder.view.identity, query_.identity);
    return holder;
  }

  void KeepLatest(std::vector<LeasePermit>& leases) const {
    std::sort(leases.begin(), leases.end(), [](const LeasePermit& a, const LeasePermit& b) {
      return std::tie(a.expires_at_ns, a.amount) > std::tie(b.expires_at_ns, b.amount);
    });
    if (leases.size() > query_.most_leases) leases.resize(query_.most_leases);
  }

  // Of a budget that the policy has.
  void AddCharge(uint32_t ledger, double cost, std::vector<LeaseCharge>& charges) const {
    const Budget* const budget = policy_.BudgetOfSlot(ledger);
    if (budget == nullptr) return;
    charges.push_back({policy_.budget_specs[budget->spec].name, budget->unit, cost});
  }

  void Finish(Holder& holder, LeaseHolderView& view) const {
    view.latest_end =
        absl::Nanoseconds(view.sums.leases == 0 ? 0 : holder.latest_end_ns - now_.monotonic_ns);
    for (const auto& [ledger, cost] : holder.charges) AddCharge(ledger, cost, view.charges);
    std::sort(view.charges.begin(), view.charges.end(),
              [](const LeaseCharge& a, const LeaseCharge& b) { return a.budget < b.budget; });
    KeepLatest(holder.leases);
    for (const LeasePermit& lease : holder.leases) {
      LeaseView& to = view.leases.emplace_back();
      to.amount = lease.amount;
      to.granted_ago =
          absl::Nanoseconds(std::max<int64_t>(now_.monotonic_ns - lease.issued_at_ns, 0));
      to.ends_in = absl::Nanoseconds(lease.expires_at_ns - now_.monotonic_ns);
      for (const auto& charge : lease.charges) AddCharge(charge.ledger, charge.cost, to.charges);
    }
  }

  const EngineCore& core_;
  const Policy& policy_;
  const LeaseQuery& query_;
  const Now now_;
  absl::flat_hash_map<uint64_t, const Target*> targets_;  // that the query takes, by key
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Holder> holders_;  // by target and subject
};

}  // namespace

LeasesView EngineViews::ReadLeases(const LeaseQuery& query, Now now) const {
  now = EngineCore::Bounded(now);
  const std::shared_ptr<const Policy> policy = core_.policies.Get();
  if (policy == nullptr) return {};
  // Of a subject that was granted none, nothing has to be read.
  if (query.subject_key != 0 && core_.lease_names.Find(query.subject_key).empty()) return {};
  LeaseReader reader(core_, *policy, query, now);
  const auto take = [&](const LeasePermit& lease) { reader.Take(lease); };
  core_.permits.ForEachLease(take);
  core_.adopted.ForEachLease(take);
  return reader.Result();
}

}  // namespace headgate::engine
