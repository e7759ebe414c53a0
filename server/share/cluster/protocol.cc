#include "server/share/cluster/protocol.h"

#include <algorithm>
#include <utility>

#include "server/share/cluster/placement.h"

namespace headgate::cluster {

void Protocol::Leave() {
  is_leaving_ = true;
  is_urgent_ = true;
  turns_may_have_changed_ = true;
}

void Protocol::Enter(Holding& holding, Phase phase, int64_t now_ns) {
  holding.phase = phase;
  holding.since_ns = now_ns;
  holding.is_asked = false;
  holding.retry_at_ns = 0;
}

Holding* Protocol::Find(const Held& held) {
  const auto found = holdings_.find(held.target);
  if (found == holdings_.end() || found->second.generation != held.generation) return nullptr;
  return &found->second;
}

void Protocol::OnTaken(const Held& held, const absl::Status& status, int64_t now_ns) {
  Holding* const holding = Find(held);
  if (holding == nullptr || holding->phase != Phase::kTaking) return;
  holding->status = status;
  if (status.ok()) {
    Enter(*holding, Phase::kServing, now_ns);
    holding->is_untouched = false;
    return Announce(held);
  }
  holding->is_asked = false;
  holding->retry_at_ns = now_ns + absl::ToInt64Nanoseconds(options_.period());
}

void Protocol::OnSaved(const Held& held, const absl::Status& status, int64_t now_ns) {
  Holding* const holding = Find(held);
  if (holding == nullptr || holding->phase != Phase::kSaving) return;
  holding->status = status;
  if (status.ok() || GoesWithoutLastState(held.target, now_ns)) {
    Enter(*holding, Phase::kGiving, now_ns);
    is_urgent_ = true;
    return;
  }
  holding->is_asked = false;
  holding->retry_at_ns = now_ns + absl::ToInt64Nanoseconds(options_.period());
}

void Protocol::Announce(const Held& held) {
  for (const auto& [name, row] : OthersHere())
    due_.push_back(Tell{row, held, options_.incarnation});
}

bool Protocol::IsNewerThanSeen(const Held& held) const {
  const ObservedRow* const row = seen_.Row(held.target);
  return row == nullptr || row->view.generation < held.generation;
}

void Protocol::OnTold(uint64_t owner_incarnation, const Held& held, int64_t now_ns) {
  if (!seen_.HasAny() || !targets_.contains(held.target) || !IsNewerThanSeen(held)) return;
  if (owner_incarnation != options_.incarnation) {
    News& news = news_[held.target];
    if (news.generation < held.generation) news = {held.generation, owner_incarnation, now_ns};
    return;
  }
  if (is_leaving_) return;
  told_[held.target] = held.generation;
  is_urgent_ = true;
}

bool Protocol::LeavesInVain(int64_t now_ns) const {
  if (!is_leaving_ || round_status_.ok()) return false;
  return !seen_.HasAny() || absl::Nanoseconds(now_ns - seen_.newest_ns()) >= options_.lease;
}

bool Protocol::HasGivenInVain() const {
  return std::ranges::any_of(round_->give, [&](const Handover& give) {
    const auto found = holdings_.find(give.target);
    return found != holdings_.end() && found->second.generation == give.generation;
  });
}

bool Protocol::WasRenewed(const Held& held) const {
  return std::ranges::any_of(round_->renew, [&](const Held& renewed) {
    return renewed.target == held.target && renewed.generation == held.generation;
  });
}

void Protocol::NoteOwn(const RoundReply& reply, int64_t started_ns, int64_t now_ns) {
  for (const OwnershipView& row : reply.ownership) {
    const auto found = holdings_.find(row.target);
    const bool is_held =
        found != holdings_.end() && IsOwn(row) && row.generation == found->second.generation;
    if (found != holdings_.end() && !is_held) {
      due_.push_back(Drop{{row.target, found->second.generation}});
      const ObservedMember* const to = seen_.MemberHere(row.owner, now_ns);
      const bool was_given =
          found->second.phase == Phase::kGiving && row.generation == found->second.generation + 1;
      if (was_given && to != nullptr && row.owner != options_.name) {
        due_.push_back(Tell{to->view.row, {row.target, row.generation}, row.incarnation});
      }
      holdings_.erase(found);
    }
    if (!IsOwn(row)) continue;
    Holding& holding = holdings_[row.target];
    if (!is_held) {
      holding.generation = row.generation;
      Enter(holding, Phase::kTaking, now_ns);
    }
    if (!reply.name_is_taken && WasRenewed({row.target, row.generation})) {
      holding.trusted_until_ns = std::max(holding.trusted_until_ns,
                                          started_ns + absl::ToInt64Nanoseconds(options_.trust()));
    } else if (!is_held) {
      is_urgent_ = true;
    }
  }
}

void Protocol::OnRound(const absl::StatusOr<RoundReply>& reply, int64_t started_ns,
                       int64_t now_ns) {
  if (!round_.has_value()) return;
  if (round_status_.ok() != reply.ok()) round_status_since_ns_ = now_ns;
  round_status_ = reply.status();
  next_round_ns_ = started_ns + absl::ToInt64Nanoseconds(options_.period());
  if (reply.ok()) {
    outage_.EndRound();
    outage_.ForgetClaims();  // whatever they came to, it is in the answer
    has_said_leaving_ = round_->self.state == MemberState::kLeaving;
    name_is_taken_ = reply->name_is_taken;
    is_urgent_ = is_urgent_ || !seen_.HasAny();  // now it is known what can be claimed
    seen_.Note(*reply, now_ns);
    turns_may_have_changed_ = true;
    NoteOwn(*reply, started_ns, now_ns);
    // What was given to it before the store knew that it leaves is given on.
    has_left_ = round_->leave && holdings_.empty();
    // Whoever was to have it is not there any more; the reply says who is.
    is_urgent_ = is_urgent_ || (!name_is_taken_ && HasGivenInVain());
    std::erase_if(told_, [&](const auto& told) {
      return !IsNewerThanSeen({told.first, told.second});
    });
    // What was told before the round began the store knew by then.
    std::erase_if(news_, [&](const auto& news) {
      return news.second.heard_ns <= started_ns ||
             !IsNewerThanSeen({news.first, news.second.generation});
    });
  }
  round_.reset();
}

std::string Protocol::PlaceAmong(const std::string& target,
                                 const std::vector<std::string>& members) const {
  const ObservedRow* const row = seen_.Row(target);
  return std::string(PlaceOf(target, row == nullptr ? "" : row->view.preferred, members));
}

std::string Protocol::PlaceOfTarget(const std::string& target, int64_t now_ns) const {
  return PlaceAmong(target, seen_.Candidates({.target = target, .now_ns = now_ns}));
}

std::string Protocol::DestinationOf(const std::string& target, int64_t now_ns) const {
  if (!is_leaving_) return PlaceOfTarget(target, now_ns);
  return PlaceAmong(
      target, seen_.Candidates({.target = target, .now_ns = now_ns, .without = options_.name}));
}

// One at a time, so that what is being handed over finishes first; all at once where this server
// goes, since they have to go.
void Protocol::BeginHandovers(int64_t now_ns) {
  if (!round_status_.ok() && !is_leaving_) return;  // nobody could be given anything
  bool is_one_under_way = std::ranges::any_of(holdings_, [](const auto& entry) {
    return entry.second.phase == Phase::kSaving || entry.second.phase == Phase::kGiving;
  });
  for (auto& [target, holding] : holdings_) {
    if (is_one_under_way && !is_leaving_) return;
    if (!IsMine(target, now_ns)) continue;
    const bool may_stay = seen_.OwnFit(target) != Fit::kNone;
    if (may_stay && !MaySettle(target, DestinationOf(target, now_ns), now_ns)) continue;
    Enter(holding, Phase::kSaving, now_ns);
    is_one_under_way = true;
  }
}

void Protocol::AskForStates(int64_t now_ns, std::vector<Action>& actions) {
  for (auto& [target, holding] : holdings_) {
    if (holding.is_asked || now_ns < holding.retry_at_ns) continue;
    if (holding.phase == Phase::kTaking) {
      if (!MayTake(target) && now_ns < TakeUnmeasuredAt(holding)) continue;
      actions.push_back(Take{{target, holding.generation}});
    } else if (holding.phase == Phase::kSaving && holding.is_untouched) {
      actions.push_back(PassOn{{target, holding.generation}});
    } else if (holding.phase == Phase::kSaving) {
      actions.push_back(Save{{target, holding.generation}});
    } else {
      continue;
    }
    holding.is_asked = true;
  }
}

bool Protocol::IsRoundDue(int64_t now_ns) const {
  if (round_.has_value() || has_left_) return false;
  if (is_urgent_ || now_ns >= next_round_ns_) return true;
  if (is_leaving_ && holdings_.empty() && round_status_.ok()) return true;
  return seen_.HasAny() && std::ranges::any_of(targets_, [&](const auto& own) {
           const std::string& target = own.first;
           const ObservedRow* const row = seen_.Row(target);
           // Once for each state of the row; after that with the rounds that come anyway.
           return row != nullptr && row->tried_renewal != row->view.renewal &&
                  IsClaimable(target, now_ns);
         });
}

Handover Protocol::HandoverOf(const std::string& target, uint64_t generation,
                              int64_t now_ns) const {
  Handover give;
  give.target = target;
  give.generation = generation;
  const ObservedMember* const to = seen_.MemberHere(DestinationOf(target, now_ns), now_ns);
  if (to == nullptr) return give;
  give.to = to->view.row.name;
  give.to_incarnation = to->view.row.incarnation;
  return give;
}

RoundRequest Protocol::MakeRound(int64_t now_ns) {
  RoundRequest request = {
      .self = {.name = options_.name,
               .incarnation = options_.incarnation,
               .address = options_.address,
               .state = is_leaving_ ? MemberState::kLeaving : MemberState::kServing,
               .offers = seen_.own_offers()},
      .number = ++round_number_,
      .lease = options_.lease};
  if (options_.on_store_loss == OnStoreLoss::kKeep) {
    std::map<std::string, MemberRow> others = OthersHere();
    std::vector<std::string>& asks = request.self.asks.emplace();
    for (const auto& [name, row] : others) asks.push_back(name);
    outage_.BeginRound(std::move(others));
  }
  for (const auto& [target, holding] : holdings_) {
    if (holding.phase == Phase::kGiving) {
      request.give.push_back(HandoverOf(target, holding.generation, now_ns));
    } else {
      request.renew.push_back({target, holding.generation});
    }
  }
  for (const auto& [target, generation] : told_) request.renew.push_back({target, generation});
  if (seen_.HasAny()) {  // only who knows what there is may claim
    for (const auto& [target, own] : targets_) {
      if (!IsClaimable(target, now_ns)) continue;
      const auto row = seen_.rows().find(target);
      const bool is_there = row != seen_.rows().end();
      if (is_there) outage_.NoteClaim(row->second.view.owner);
      request.claim.push_back(seen_.ClaimOf(target, is_there ? &row->second : nullptr, now_ns));
      if (is_there) row->second.tried_renewal = row->second.view.renewal;
    }
  }
  // Not before the store has said in a reply of its own what was given to a server that stays.
  request.leave = is_leaving_ && holdings_.empty() && has_said_leaving_;
  return request;
}

std::vector<Action> Protocol::Tick(int64_t now_ns) {
  if (!round_status_since_ns_.has_value()) round_status_since_ns_ = now_ns;
  if (!started_ns_.has_value()) started_ns_ = now_ns;
  if (is_leaving_ && !leaving_since_ns_.has_value()) leaving_since_ns_ = now_ns;
  std::vector<Action> actions = std::move(due_);
  due_.clear();
  FollowMeasuring(now_ns, actions);
  PassOnWhatCannotBeHad(now_ns);
  BeginHandovers(now_ns);
  AskForStates(now_ns, actions);
  AskAllToKeep(now_ns, actions);
  if (IsRoundDue(now_ns)) {
    round_ = MakeRound(now_ns);
    is_urgent_ = false;
    actions.push_back(StartRound{*round_});
  }
  return actions;
}

int64_t Protocol::NextTick(int64_t now_ns) const {
  if (!due_.empty()) return now_ns;
  int64_t next = now_ns + absl::ToInt64Nanoseconds(options_.period());
  const auto at = [&](int64_t time_ns) {
    if (time_ns > now_ns) next = std::min(next, time_ns);
  };
  if (!round_.has_value()) {
    if (IsRoundDue(now_ns)) return now_ns;
    at(next_round_ns_);
    for (const auto& [target, row] : seen_.rows()) {
      at(seen_.ClaimableAt(row));
      at(MayReplaceAt(row));
    }
  }
  if (AsksToKeep()) {
    if (outage_.NextAsk() <= now_ns) return now_ns;
    at(outage_.NextAsk());
    at(outage_.AgreedUntil(now_ns));
  }
  for (const auto& [target, holding] : holdings_) {
    at(holding.trusted_until_ns);
    const bool is_to_ask = holding.phase == Phase::kTaking || holding.phase == Phase::kSaving;
    if (!is_to_ask || holding.is_asked) continue;
    if (holding.phase == Phase::kTaking && !MayTake(target) && now_ns < TakeUnmeasuredAt(holding)) {
      at(TakeUnmeasuredAt(holding));
      continue;
    }
    if (holding.retry_at_ns <= now_ns) return now_ns;
    at(holding.retry_at_ns);
  }
  return next;
}

// As of the newest reply: who has lost the store asks the last known owner, which knows best
// whether it still is.
void Protocol::FillOwner(uint64_t generation, uint64_t incarnation, OwnerRow& owner) const {
  owner.generation = generation;
  if (incarnation == options_.incarnation) return;
  for (const auto& [name, member] : seen_.members()) {
    if (member.view.row.incarnation != incarnation) continue;
    if (seen_.MemberHere(name, seen_.newest_ns()) == nullptr) return;
    owner.kind = OwnerRow::Kind::kOther;
    owner.member = name;
    owner.address = member.view.row.address;
  }
}

std::map<std::string, OwnerRow> Protocol::Owners(int64_t now_ns) const {
  std::map<std::string, OwnerRow> owners;
  for (const auto& [target, is_offered] : KnownTargets()) {
    OwnerRow& owner = owners[target];
    owner.is_offered = is_offered;
    const auto holding = holdings_.find(target);
    if (holding != holdings_.end()) {
      owner.generation = holding->second.generation;
      if (!IsMine(target, now_ns)) continue;
      owner.kind = OwnerRow::Kind::kSelf;
      owner.trusted_until_ns = TrustedUntil(holding->second, now_ns);
      continue;
    }
    const auto news = news_.find(target);
    const ObservedRow* const row = seen_.Row(target);
    if (news != news_.end()) {
      FillOwner(news->second.generation, news->second.incarnation, owner);
    } else if (row != nullptr) {
      FillOwner(row->view.generation, row->view.incarnation, owner);
    }
  }
  return owners;
}

}  // namespace headgate::cluster
