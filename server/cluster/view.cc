#include "server/cluster/view.h"

namespace headgate::cluster {

ClusterView ViewOf(const Protocol& protocol, int64_t now_ns) {
  const Observations& seen = protocol.seen();
  ClusterView view{
      .self = protocol.options().name,
      .store = protocol.round_status(),
      .store_since = absl::Nanoseconds(now_ns - protocol.round_status_since_ns(now_ns)),
      .name_is_taken = protocol.name_is_taken(),
      .is_leaving = protocol.is_leaving()};
  if (protocol.AsksToKeep()) {
    view.not_agreeing = protocol.keeping().Missing(now_ns);
    view.is_kept = view.not_agreeing.empty();
  }
  for (const auto& [name, member] : seen.members()) {
    // As of the newest reply: where the store is away nobody is known to be gone.
    view.members.push_back({.row = member.view.row,
                            .is_self = name == view.self,
                            .is_here = seen.MemberHere(name, seen.newest_ns()) != nullptr,
                            .is_drained = member.view.is_drained,
                            .seen_ago = absl::Nanoseconds(now_ns - member.changed_at_ns)});
  }
  for (const auto& [target, owner] : protocol.Owners(now_ns)) {
    ViewedTarget& viewed = view.targets.emplace_back();
    viewed.target = target;
    viewed.generation = owner.generation;
    viewed.owner = owner.member;
    if (const ObservedRow* const row = seen.Row(target); row != nullptr) {
      viewed.preferred = row->view.preferred;
    }
    const auto holding = protocol.holdings().find(target);
    if (holding == protocol.holdings().end()) continue;
    viewed.is_self = true;
    viewed.phase = holding->second.phase;
    if (owner.kind == OwnerRow::Kind::kSelf) viewed.owner = view.self;
  }
  return view;
}

}  // namespace headgate::cluster
