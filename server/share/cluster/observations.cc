#include "server/share/cluster/observations.h"

#include <algorithm>
#include <utility>

#include "server/share/cluster/placement.h"

namespace headgate::cluster {
namespace {

bool IsSameLife(const MemberView& a, const MemberView& b) {
  return a.row.incarnation == b.row.incarnation && a.round == b.round;
}

bool MayReplace(const std::string& name, const MemberRow* keeper) {
  return keeper == nullptr || name == keeper->name ||
         std::ranges::find(*keeper->asks, name) != keeper->asks->end();
}

}  // namespace

void Observations::Note(const RoundReply& reply, int64_t now_ns) {
  std::map<std::string, ObservedMember> members;
  for (const MemberView& view : reply.members) {
    ObservedMember& member = members[view.row.name];
    const auto before = members_.find(view.row.name);
    const bool is_known = before != members_.end();
    if (is_known) member = before->second;
    const bool has_changed = !is_known || !IsSameLife(before->second.view, view);
    const bool is_same_process =
        is_known && before->second.view.row.incarnation == view.row.incarnation;
    if (has_changed && !(is_same_process && IsHere(before->second, now_ns))) {
      member.here_since_ns = now_ns;
    }
    if (has_changed) member.changed_at_ns = now_ns;
    // Of one that is seen for the first time the store's clock is all there is.
    if (has_changed) member.was_away = !is_known && view.last_seen >= options_.lease;
    member.view = view;
  }
  members_ = std::move(members);

  std::map<std::string, ObservedRow> rows;
  for (const OwnershipView& view : reply.ownership) {
    ObservedRow& row = rows[view.target];
    const auto before = rows_.find(view.target);
    if (before != rows_.end()) row = before->second;
    const bool is_same_generation =
        before != rows_.end() && before->second.view.generation == view.generation;
    if (!is_same_generation || row.view.renewal != view.renewal) row.changed_at_ns = now_ns;
    row.view = view;
  }
  rows_ = std::move(rows);
  overrides_revision_ = reply.overrides_revision;
  newest_ns_ = now_ns;
  has_any_ = true;
}

bool Observations::IsHere(const ObservedMember& member, int64_t now_ns) const {
  return !member.was_away && absl::Nanoseconds(now_ns - member.changed_at_ns) < options_.lease;
}

const ObservedMember* Observations::MemberHere(const std::string& name, int64_t now_ns) const {
  const auto found = members_.find(name);
  return found != members_.end() && IsHere(found->second, now_ns) ? &found->second : nullptr;
}

const ObservedRow* Observations::Row(const std::string& target) const {
  const auto found = rows_.find(target);
  return found == rows_.end() ? nullptr : &found->second;
}

Fit Observations::FitOf(const std::string& name, const std::string& target) const {
  const auto found = members_.find(name);
  if (found == members_.end()) return Fit::kNone;
  const MemberRow& row = found->second.view.row;
  const bool is_self = name == options_.name && row.incarnation == options_.incarnation;
  if (is_self) return OwnFit(target);
  return row.offers.has_value() ? cluster::FitOf(*row.offers, target) : Fit::kFull;
}

std::array<std::vector<std::string>, 7> Observations::CandidatesByKind(const Asked& asked) const {
  std::array<std::vector<std::string>, 7> kinds;
  const auto is_lacked = [&] {
    return std::ranges::any_of(members_, [&](const auto& member) {
      return IsHere(member.second, asked.now_ns) && !MayOwn(FitOf(member.first, asked.target));
    });
  };
  for (const auto& [name, member] : members_) {
    if (name == asked.without || !MayReplace(name, asked.keeper)) continue;
    if (!IsHere(member, asked.now_ns)) continue;
    if (member.view.row.state != MemberState::kServing) continue;
    const Fit fit = FitOf(name, asked.target);
    if (!MayOwn(fit)) continue;
    size_t kind = fit == Fit::kBlind ? 4 : fit == Fit::kPartly ? 2 : 0;
    if (member.view.is_drained) ++kind;
    const bool says_nothing = !member.view.row.offers.has_value() && name != options_.name;
    if (says_nothing && is_lacked()) kind = 6;
    kinds[kind].push_back(name);
  }
  return kinds;
}

std::vector<std::string> Observations::Candidates(const Asked& asked) const {
  for (std::vector<std::string>& kind : CandidatesByKind(asked)) {
    if (!kind.empty()) return std::move(kind);
  }
  return {};
}

std::vector<std::string> Observations::AllCandidates(const Asked& asked) const {
  std::vector<std::string> all;
  for (std::vector<std::string>& kind : CandidatesByKind(asked)) {
    const auto begin = all.insert(all.end(), kind.begin(), kind.end());
    std::sort(begin, all.end(), [&](const std::string& a, const std::string& b) {
      return PlacementScore(asked.target, a) > PlacementScore(asked.target, b);
    });
  }
  return all;
}

bool Observations::IsSettled(const ObservedMember& member, int64_t now_ns) const {
  return absl::Nanoseconds(now_ns - member.here_since_ns) >= options_.settling();
}

std::vector<std::string> Observations::SettledCandidates(const Asked& asked) const {
  const std::vector<std::string> all = Candidates(asked);
  std::vector<std::string> settled;
  for (const std::string& name : all) {
    if (IsSettled(members_.at(name), asked.now_ns)) settled.push_back(name);
  }
  return settled.empty() ? all : settled;
}

int64_t Observations::ClaimableAt(const ObservedRow& row) const {
  if (row.view.owner.empty()) return row.changed_at_ns;
  return row.changed_at_ns + absl::ToInt64Nanoseconds(options_.patience());
}

Claim Observations::ClaimOf(const std::string& target, const ObservedRow* row,
                            int64_t now_ns) const {
  if (row == nullptr) return {.target = target};
  const absl::Duration unchanged = absl::Nanoseconds(now_ns - row->changed_at_ns);
  return {.target = target,
          .generation = row->view.generation,
          .renewal = row->view.renewal,
          .condition = unchanged >= options_.long_patience() ? Claim::Condition::kUnchanged
                                                             : Claim::Condition::kExpired};
}

}  // namespace headgate::cluster
