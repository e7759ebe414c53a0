// When an owner's lease ends for the owner itself, and from when on another server may claim what
// it owned.
//
// An owner trusts its lease for half of its length from the start of the attempt that renewed it;
// nobody claims it before all of it has passed unrenewed, by the claimant's own clock and the
// store's (Observations::ClaimableAt). While the store is away both may be later (store_outage.h).

#include <algorithm>

#include "server/share/cluster/protocol.h"

namespace headgate::cluster {

bool Protocol::IsMine(const std::string& target, int64_t now_ns) const {
  const auto found = holdings_.find(target);
  return found != holdings_.end() && found->second.phase == Phase::kServing &&
         now_ns < TrustedUntil(found->second, now_ns);
}

int64_t Protocol::TrustedUntil(const Holding& holding, int64_t now_ns) const {
  // One that the store has never said this server may trust is nothing to go on with.
  if (!AsksToKeep() || holding.trusted_until_ns == 0) return holding.trusted_until_ns;
  return std::max(holding.trusted_until_ns, outage_.AgreedUntil(now_ns));
}

const MemberRow* Protocol::KeeperOf(const ObservedRow& row) const {
  const auto owner = seen_.members().find(row.view.owner);
  if (owner == seen_.members().end() || row.view.owner == options_.name) return nullptr;
  const MemberRow& member = owner->second.view.row;
  // Where the name has another process, the owner's has ended.
  const bool may_keep = member.incarnation == row.view.incarnation && member.asks.has_value();
  return may_keep ? &member : nullptr;
}

int64_t Protocol::MayReplaceAt(const ObservedRow& row) const {
  const int64_t bound_ns = outage_.BoundUntil(row.view.owner);
  if (KeeperOf(row) == nullptr) return bound_ns;
  // An earlier process of this name may have agreed just before it ended.
  if (!started_ns_.has_value()) return INT64_MAX;
  return std::max(bound_ns, *started_ns_ + absl::ToInt64Nanoseconds(options_.promise()));
}

bool Protocol::IsClaimable(const std::string& target, int64_t now_ns) const {
  if (is_leaving_ || name_is_taken_ || holdings_.contains(target) || told_.contains(target)) {
    return false;
  }
  if (!MayOwn(seen_.OwnFit(target))) return false;
  const ObservedRow* const row = seen_.Row(target);
  const MemberRow* const keeper = row == nullptr ? nullptr : KeeperOf(*row);
  if (row != nullptr && now_ns < std::max(seen_.ClaimableAt(*row), MayReplaceAt(*row)))
    return false;
  // What was seen before the store was away is no reason: the owner may be deciding on.
  if (keeper != nullptr && !round_status_.ok()) return false;
  const Observations::Asked asked{.target = target, .now_ns = now_ns, .keeper = keeper};
  if (PlaceAmong(target, seen_.SettledCandidates(asked)) == options_.name) return true;
  return row != nullptr && IsOverdue(asked, *row);
}

}  // namespace headgate::cluster
