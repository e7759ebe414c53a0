#include "server/share/cluster/view.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/strings.h"

namespace headgate::cluster {
namespace {

void CountServers(const ClusterView& view, ViewedTarget& target) {
  std::set<uint64_t> configurations;
  for (const ViewedMember& member : view.members) {
    if (!member.is_here) continue;
    if (!member.row.offers.has_value()) {
      ++target.servers;  // of an earlier release, which has all, as far as anybody knows
      continue;
    }
    const auto offer = member.row.offers->find(target.target);
    if (offer == member.row.offers->end()) continue;
    configurations.insert(offer->second.configuration);
    ++target.servers;
  }
  target.configurations = static_cast<int>(configurations.size());
}

// A lease after the store was heard last another server may have any target. An owner that this
// server lets decide on has what it had.
bool IsOutdated(const Protocol& protocol, const std::string& owner, int64_t now_ns) {
  const Observations& seen = protocol.seen();
  if (protocol.round_status().ok() || !seen.HasAny()) return false;
  const bool is_long_ago = absl::Nanoseconds(now_ns - seen.newest_ns()) >= protocol.options().lease;
  return is_long_ago && now_ns >= protocol.outage().BoundUntil(owner);
}

}  // namespace

ClusterView ViewOf(const Protocol& protocol, int64_t now_ns) {
  const Observations& seen = protocol.seen();
  ClusterView view{
      .self = protocol.options().name,
      .store = protocol.round_status(),
      .store_since = absl::Nanoseconds(now_ns - protocol.round_status_since_ns(now_ns)),
      .name_is_taken = protocol.name_is_taken(),
      .is_leaving = protocol.is_leaving(),
      .states = protocol.states().status()};
  if (protocol.AsksToKeep()) {
    view.not_agreeing = protocol.outage().Missing(now_ns);
    view.is_kept = view.not_agreeing.empty();
  }
  for (const auto& [name, member] : seen.members()) {
    // As of the newest reply: where the store is away nobody is known to be gone.
    view.members.push_back({.row = member.view.row,
                            .is_self = name == view.self,
                            .is_here = seen.MemberHere(name, seen.newest_ns()) != nullptr,
                            .is_drained = member.view.is_drained,
                            .seen_ago = absl::Nanoseconds(now_ns - member.changed_at_ns)});
    ViewedMember& viewed = view.members.back();
    if (member.view.row.incarnation != protocol.options().incarnation) continue;
    viewed.row.offers = seen.own_offers();  // the store may not know yet
  }
  for (const auto& [target, owner] : protocol.Owners(now_ns)) {
    if (!owner.is_offered) continue;
    ViewedTarget& viewed = view.targets.emplace_back();
    viewed.target = target;
    CountServers(view, viewed);
    viewed.generation = owner.generation;
    viewed.owner = owner.member;
    if (IsOutdated(protocol, owner.member, now_ns)) std::swap(viewed.owner, viewed.last_owner);
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

const ViewedMember* FindMember(const ClusterView& view, std::string_view member) {
  const auto found = std::ranges::find_if(
      view.members, [&](const ViewedMember& viewed) { return viewed.row.name == member; });
  return found == view.members.end() ? nullptr : &*found;
}

std::string_view OwnerIn(const ClusterView& view, std::string_view target) {
  for (const ViewedTarget& viewed : view.targets) {
    if (viewed.target == target) return viewed.owner;
  }
  return {};
}

Measures OwnersMeasures(const ClusterView& view, std::string_view target) {
  const ViewedMember* const owner = FindMember(view, OwnerIn(view, target));
  if (owner == nullptr || !owner->row.offers.has_value()) return Measures::kAll;
  const auto offer = owner->row.offers->find(target);
  const bool is_known =
      offer != owner->row.offers->end() && offer->second.measures != Measures::kUntried;
  return is_known ? offer->second.measures : Measures::kAll;
}

std::map<std::string, std::string> Differences(const ClusterView& view) {
  std::map<std::string, std::string> differences;
  for (const ViewedTarget& target : view.targets) {
    std::map<std::string, std::vector<std::string>> servers;  // by configuration
    for (const ViewedMember& member : view.members) {
      if (!member.is_here || !member.row.offers.has_value()) continue;
      const auto offer = member.row.offers->find(target.target);
      const bool is_there = offer != member.row.offers->end();
      servers[is_there ? ConfigurationText(offer->second.configuration) : "not at all"].push_back(
          member.row.name);
    }
    if (servers.size() < 2) continue;
    std::vector<std::string> kinds;
    kinds.reserve(servers.size());
    for (const auto& [configuration, names] : servers) {
      kinds.push_back(absl::StrCat(absl::StrJoin(names, ", "), ": ", configuration));
    }
    differences.emplace(target.target, absl::StrJoin(kinds, "; "));
  }
  return differences;
}

absl::Status MayHave(const ClusterView& view, std::string_view target, std::string_view member) {
  const ViewedMember* const found = FindMember(view, member);
  if (found == nullptr) {
    return absl::NotFoundError(absl::StrCat("member: there is no server '", Sv(member), "'"));
  }
  if (!found->row.offers.has_value()) return absl::OkStatus();
  const auto offer = found->row.offers->find(target);
  if (offer == found->row.offers->end()) {
    return absl::FailedPreconditionError(absl::StrCat("server ", Sv(member), " has no target ",
                                                      Sv(target), " in its configuration"));
  }
  if (!offer->second.keeps_state) {
    return absl::FailedPreconditionError(absl::StrCat("server ", Sv(member),
                                                      " cannot keep the state of target ",
                                                      Sv(target), ": ", offer->second.why));
  }
  return absl::OkStatus();
}

std::vector<std::string> TargetsElsewhere(const ClusterView& view) {
  std::vector<std::string> elsewhere;
  for (const ViewedTarget& target : view.targets) {
    const std::string& asked = AskedAbout(target);
    if (!asked.empty() && asked != view.self) elsewhere.push_back(target.target);
  }
  return elsewhere;
}

}  // namespace headgate::cluster
