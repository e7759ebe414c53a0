// What a server could own, and who measures a target before it has it.
//
// In steady state a target is measured by its owner alone. Whose turn it is to have it next, since
// the owner leaves, is drained, or belongs elsewhere, finds that by the same rule as all others do,
// and begins to measure; an owner gives only to who has. Who could not is passed over for a while.

#include <algorithm>
#include <utility>

#include "server/share/cluster/protocol.h"

namespace headgate::cluster {
namespace {

// Between two attempts of a server that could not measure a target: doubled with each, up to so
// often.
constexpr absl::Duration kTryAgainAfter = absl::Seconds(10);
constexpr int kMostDoublings = 5;

int64_t TryAgainAt(int64_t now_ns, int failures) {
  const int doublings = std::clamp(failures - 1, 0, kMostDoublings);
  return now_ns + absl::ToInt64Nanoseconds(kTryAgainAfter * (1 << doublings));
}

}  // namespace

void Protocol::NoteStates(Own& own) const {
  own.offer.keeps_state = states_.keeps();
  own.offer.why =
      states_.status().ok() ? own.measured_why : std::string(states_.status().message());
}

void Protocol::TellOffers() {
  Offers offers;
  for (const auto& [target, own] : targets_) offers.emplace(target, own.offer);
  seen_.SetOwnOffers(std::move(offers));
  turns_may_have_changed_ = true;
}

void Protocol::SetTargets(const std::map<std::string, uint64_t>& targets) {
  for (const auto& [target, own] : targets_) {
    if (!targets.contains(target) && own.is_measured) due_.push_back(Measure{target, false});
  }
  std::erase_if(targets_, [&](const auto& own) { return !targets.contains(own.first); });
  for (const auto& [target, configuration] : targets) {
    Own& own = targets_[target];
    // Where it was measured may be what has changed.
    if (own.offer.configuration != configuration) {
      own.failures = 0;
      own.try_again_ns = INT64_MIN;
    }
    own.offer.configuration = configuration;
    NoteStates(own);
  }
  TellOffers();
  is_urgent_ = true;
}

bool Protocol::OnStatesTried(const absl::Status& status, int64_t now_ns) {
  if (!states_.OnTried(status, round_status_.ok(), now_ns)) return false;
  for (auto& [target, own] : targets_) NoteStates(own);
  TellOffers();
  is_urgent_ = true;
  return true;
}

bool Protocol::OnMeasured(const std::string& target, Measures measures, const std::string& why,
                          int64_t now_ns) {
  const auto found = targets_.find(target);
  if (found == targets_.end() || !found->second.is_measured) return false;
  Own& own = found->second;
  Offer& offer = own.offer;
  if (measures < offer.measures && holdings_.contains(target)) {
    if (!own.worse_since_ns.has_value()) own.worse_since_ns = now_ns;
    own.worse = measures;
    own.worse_why = why;
    return false;
  }
  own.worse_since_ns.reset();
  if (offer.measures != measures) own.failures = measures == Measures::kAll ? 0 : own.failures + 1;
  own.try_again_ns = TryAgainAt(now_ns, own.failures);
  if (offer.measures == measures) return false;
  offer.measures = measures;
  own.measured_why = why;
  NoteStates(own);
  TellOffers();
  is_urgent_ = true;
  return true;
}

void Protocol::FollowMeasuring(int64_t now_ns, std::vector<Action>& actions) {
  if (!turns_may_have_changed_ && now_ns < next_turns_ns_) return;
  turns_may_have_changed_ = false;
  next_turns_ns_ = now_ns + absl::ToInt64Nanoseconds(options_.period() / 2);
  bool has_changed = false;
  const auto set = [&](Own& own, Measures measures, const std::string& why) {
    own.offer.measures = measures;
    own.measured_why = why;
    NoteStates(own);
    has_changed = true;
  };
  const int64_t lasting_ns = absl::ToInt64Nanoseconds(2 * options_.lease);
  for (auto& [target, own] : targets_) {
    const bool is_held = holdings_.contains(target);
    if (own.worse_since_ns.has_value() && now_ns - *own.worse_since_ns >= lasting_ns) {
      own.worse_since_ns.reset();
      own.try_again_ns = TryAgainAt(now_ns, ++own.failures);
      set(own, own.worse, own.worse_why);
    }
    const bool is_given_up = !own.is_measured && own.offer.measures != Measures::kUntried;
    if (is_given_up && now_ns >= own.try_again_ns) set(own, Measures::kUntried, "");
    const bool is_its_turn = !is_leaving_ && !name_is_taken_ && seen_.HasAny() &&
                             PlaceOfTarget(target, now_ns) == options_.name;
    if (own.is_measured == (is_held || is_its_turn)) continue;
    own.is_measured = !own.is_measured;
    actions.push_back(Measure{target, own.is_measured});
    if (own.is_measured) continue;
    own.worse_since_ns.reset();
    if (own.offer.measures == Measures::kAll) set(own, Measures::kUntried, "");
  }
  if (has_changed) TellOffers();
}

bool Protocol::MayTake(const std::string& target) const {
  const auto own = targets_.find(target);
  return own == targets_.end() || own->second.offer.measures != Measures::kUntried;
}

// Whoever asks is better served by what on_stale says than by nobody.
int64_t Protocol::TakeUnmeasuredAt(const Holding& holding) const {
  return holding.since_ns + absl::ToInt64Nanoseconds(options_.trust());
}

void Protocol::PassOnWhatCannotBeHad(int64_t now_ns) {
  for (auto& [target, holding] : holdings_) {
    if (holding.phase != Phase::kTaking) continue;
    if (!states_.keeps()) {
      // To whoever can, or to nobody: this server has not gone on from what is there, which is as
      // final as it was.
      Enter(holding, Phase::kGiving, now_ns);
      is_urgent_ = true;
    } else if (is_leaving_ || !targets_.contains(target)) {
      Enter(holding, Phase::kSaving, now_ns);
    }
  }
}

bool Protocol::GoesWithoutLastState(const std::string& target, int64_t now_ns) const {
  if (is_leaving_) return !states_.keeps();
  return states_.HasGivenUp(now_ns) && !DestinationOf(target, now_ns).empty();
}

bool Protocol::MaySettle(const std::string& target, const std::string& to, int64_t now_ns) const {
  if (is_leaving_) return MayLeaveTo(target, to, now_ns);
  if (to.empty() || to == options_.name) return false;
  // Nobody is given what it does not see, or sees less of than the owner does.
  const Fit fit = seen_.FitOf(to, target);
  if (fit == Fit::kUntried || fit < seen_.OwnFit(target)) return false;
  if (seen_.OwnFit(target) == Fit::kStateless) {
    // It decides all the same, and goes to nobody who sees less, or may be about to fail as well.
    if (!states_.HasGivenUp(now_ns)) return false;
    const Measures measures = targets_.at(target).offer.measures;
    return measures == Measures::kUntried || fit >= FitOf(measures);
  }
  const ObservedRow* const row = seen_.Row(target);
  if (row != nullptr && row->view.preferred == to) return true;
  const auto self = seen_.members().find(options_.name);
  if (self != seen_.members().end() && self->second.view.is_drained) return true;
  const ObservedMember* const member = seen_.MemberHere(to, now_ns);
  return member != nullptr && seen_.IsSettled(*member, now_ns);
}

bool Protocol::MayLeaveTo(const std::string& target, const std::string& to, int64_t now_ns) const {
  if (to.empty() || seen_.FitOf(to, target) != Fit::kUntried) return true;
  return leaving_since_ns_.has_value() &&
         absl::Nanoseconds(now_ns - *leaving_since_ns_) >= options_.lease;
}

// Servers may differ in whose turn it is: those of an earlier release take all for able.
bool Protocol::IsOverdue(const Observations::Asked& asked, const ObservedRow& row) const {
  const std::vector<std::string> all = seen_.AllCandidates(asked);
  const auto self = std::ranges::find(all, options_.name);
  if (self == all.end()) return false;
  const int64_t rank = std::max<int64_t>(self - all.begin(), 1);
  const int64_t since_ns = std::max(seen_.ClaimableAt(row), MayReplaceAt(row));
  return absl::Nanoseconds(asked.now_ns - since_ns) >= rank * options_.lease;
}

std::map<std::string, bool> Protocol::KnownTargets() const {
  std::map<std::string, bool> known;
  for (const auto& [target, own] : targets_) known.emplace(target, true);
  for (const auto& [name, member] : seen_.members()) {
    const SharedOffers& offers = member.view.row.offers;
    if (!offers.has_value() || seen_.MemberHere(name, seen_.newest_ns()) == nullptr) continue;
    for (const auto& [target, offer] : *offers) known.emplace(target, true);
  }
  for (const auto& [target, row] : seen_.rows()) {
    if (!row.view.owner.empty()) known.emplace(target, false);
  }
  return known;
}

}  // namespace headgate::cluster
