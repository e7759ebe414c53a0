#include "tests/sim/cluster/model_store.h"

namespace headgate::cluster {

void ModelStore::Own(Ownership& row, const std::string& owner, uint64_t incarnation,
                     absl::Time expires) {
  if (row.incarnation != incarnation) ++handovers_;
  row.owner = owner;
  row.incarnation = incarnation;
  ++row.generation;
  ++row.renewal;
  row.expires = expires;
}

void ModelStore::Renew(const RoundRequest& request, absl::Time now) {
  for (const Held& held : request.renew) {
    const auto row = ownership_.find(held.target);
    if (row == ownership_.end()) continue;
    const bool is_its_own = row->second.incarnation == request.self.incarnation &&
                            row->second.generation == held.generation;
    if (!is_its_own && fencing_ != Fencing::kNone) continue;
    row->second.owner = request.self.name;
    row->second.incarnation = request.self.incarnation;
    row->second.generation = held.generation;
    row->second.expires = now + request.lease;
    ++row->second.renewal;
  }
}

void ModelStore::Give(const RoundRequest& request, absl::Time now) {
  for (const Handover& give : request.give) {
    const auto row = ownership_.find(give.target);
    if (row == ownership_.end() || row->second.incarnation != request.self.incarnation ||
        row->second.generation != give.generation) {
      continue;
    }
    if (!give.to.empty()) {
      if (!Receives(give)) continue;
      Own(row->second, give.to, give.to_incarnation, now + request.lease);
      continue;
    }
    row->second.owner.clear();
    row->second.incarnation = 0;
    row->second.expires = now;
    ++row->second.renewal;
  }
}

bool ModelStore::Receives(const Handover& give) const {
  const auto to = members_.find(give.to);
  return to != members_.end() && to->second.row.incarnation == give.to_incarnation &&
         to->second.row.state == MemberState::kServing;
}

void ModelStore::Grant(const RoundRequest& request, absl::Time now) {
  for (const Claim& claim : request.claim) {
    Ownership& row = ownership_[claim.target];
    if (row.generation != claim.generation || row.renewal != claim.renewal) continue;
    const bool is_free = row.owner.empty() || row.expires <= now;
    if (!is_free && claim.condition == Claim::Condition::kExpired) continue;
    Own(row, request.self.name, request.self.incarnation, now + request.lease);
  }
}

RoundReply ModelStore::Round(const RoundRequest& request, absl::Time now) {
  RoundReply reply;
  const auto known = members_.find(request.self.name);
  reply.name_is_taken = known != members_.end() &&
                        known->second.row.incarnation != request.self.incarnation &&
                        absl::AbsDuration(now - known->second.last_seen) < request.lease;
  // One that was given up, and comes after those that followed it: nobody waits for the reply.
  if (known != members_.end() && known->second.row.incarnation == request.self.incarnation &&
      known->second.round > request.number) {
    reply.name_is_taken = true;
  }
  if (!reply.name_is_taken) {
    Member& self = members_[request.self.name];
    self.row = request.self;
    self.last_seen = now;
    self.round = request.number;
    Renew(request, now);
    Give(request, now);
    Grant(request, now);
    if (request.leave) members_.erase(request.self.name);
  }
  for (const auto& [name, member] : members_) {
    reply.members.push_back({.row = member.row,
                             .round = member.round,
                             .last_seen = now - member.last_seen,
                             .is_drained = member.is_drained});
  }
  for (const auto& [target, row] : ownership_) {
    if (row.renewal == 0) continue;
    reply.ownership.push_back({.target = target,
                               .owner = row.owner,
                               .incarnation = row.incarnation,
                               .generation = row.generation,
                               .renewal = row.renewal,
                               .remaining = row.expires - now,
                               .preferred = row.preferred});
  }
  reply.overrides_revision = overrides_;
  return reply;
}

bool ModelStore::IsOwner(const Held& held) const {
  const auto row = ownership_.find(held.target);
  return row != ownership_.end() && row->second.generation == held.generation;
}

absl::Status ModelStore::WriteState(const StateWrite& write, absl::Time now) {
  const std::string target(write.target);
  uint64_t generation = write.generation;
  if (fencing_ == Fencing::kNone) {
    generation = ownership_[target].generation;
  } else if (!IsOwner({target, generation})) {
    return absl::AbortedError("the target has another owner");
  }
  State& state = states_[target];
  if (state.generation == generation && state.sequence >= write.sequence &&
      fencing_ != Fencing::kNone) {
    return absl::DataLossError("a later write is there");
  }
  state = {.generation = generation,
           .sequence = write.sequence,
           .whole = std::string(write.bytes),
           .copied = now - write.age,
           .is_final = write.is_final};
  return absl::OkStatus();
}

absl::StatusOr<std::optional<StoredState>> ModelStore::ReadState(const Held& held, absl::Time now) {
  if (!IsOwner(held)) return absl::AbortedError("the target has another owner");
  const auto found = states_.find(held.target);
  if (found == states_.end()) return std::nullopt;
  State& state = found->second;
  if (state.is_final && held.generation > state.generation) state.readers.insert(held.generation);
  const bool is_another = !state.readers.empty() && *state.readers.begin() < held.generation;
  return StoredState{
      .generation = state.generation,
      .whole = state.whole,
      .age = now - state.copied,
      .is_final = state.is_final && (!is_another || fencing_ == Fencing::kWithoutMarks)};
}

void ModelStore::SetDrained(const std::string& member, bool drained) {
  const auto known = members_.find(member);
  if (known != members_.end()) known->second.is_drained = drained;
}

void ModelStore::SetPreferred(const std::string& target, const std::string& member) {
  const auto row = ownership_.find(target);
  if (row != ownership_.end()) row->second.preferred = member;
}

}  // namespace headgate::cluster
