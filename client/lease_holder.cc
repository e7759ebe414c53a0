#include "client/lease_holder.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace headgate::client::internal {
namespace {

// Where a lease is under way, or nobody can say more.
constexpr absl::Duration kSoon = absl::Milliseconds(5);
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr double kMoreThanUsed = 1.5;
constexpr double kPartsOfUse = 20;
constexpr double kFirstPieces = 10;  // while nothing is known of the work
constexpr double kLeastPiece = 1e-9;

}  // namespace

bool LeaseHolder::HasCurrent(int64_t now_ns) const {
  return std::any_of(held_.begin(), held_.end(),
                     [&](const Held& lease) { return now_ns < lease.ends_ns && lease.left > 0; });
}

LeaseHolder::Held* LeaseHolder::SafeLease(int64_t now_ns) {
  RetireOver(now_ns);
  if (safe_.has_value()) return &*safe_;
  return held_.empty() || held_.back().safe_rate == 0 ? nullptr : &held_.back();
}

Admission LeaseHolder::Admit(double cost, int64_t now_ns, Refusal refusal) {
  if (closed_) {
    Admission admission{.error = absl::CancelledError("the lease is closed")};
    return admission;
  }
  wanted_ = true;
  refusal_ = refusal;
  while (!held_.empty()) {
    Held& lease = held_.front();
    if (now_ns < lease.ends_ns && cost <= lease.left) [[likely]]
      return Take(lease, cost);
    if (cost > lease.largest_piece) break;
    if (now_ns < lease.ends_ns && held_.size() == 1) break;  // a smaller piece may fit
    RetireFront();
  }
  if (unreachable_) [[unlikely]] {
    if (Held* const safe = SafeLease(now_ns); safe != nullptr)
      return TakeSafely(*safe, cost, now_ns);
  }
  return RefuseForRoom(cost, now_ns);
}

inline std::optional<Admission> LeaseHolder::RefusedBy(const Held& lease, double cost) {
  if (cost > lease.largest_piece) [[unlikely]]
    return Refuse(cost, {Reason::kMaxCost, LimitKind::kMaxCost, {}, {}, {}}, std::nullopt);
  if (lease.one_at_a_time && under_way_ > 0) [[unlikely]] {
    return Refuse(cost, {Reason::kMaxConcurrency, LimitKind::kMaxConcurrency, {}, {}, {}}, kSoon);
  }
  if (lease.reject_ratio > 0 && jitter_.Unit() < lease.reject_ratio) [[unlikely]]
    return Refuse(cost, {Reason::kRejectRatio, LimitKind::kRule, {}, {}, {}}, options_.time);
  return std::nullopt;
}

Admission LeaseHolder::Take(Held& lease, double cost) {
  if (std::optional<Admission> refused = RefusedBy(lease, cost); refused.has_value()) [[unlikely]]
    return *std::move(refused);
  lease.left -= cost;
  ++lease.pieces;
  if (lease.one_at_a_time) ++under_way_;
  ++stats_.admitted;
  stats_.spent += cost;
  spent_since_ += cost;
  return {.admitted = true};
}

// No more comes together than in a lease's time, or than one piece needs: who has not worked for a
// while does not make up for it.
Admission LeaseHolder::TakeSafely(Held& lease, double cost, int64_t now_ns) {
  if (std::optional<Admission> refused = RefusedBy(lease, cost); refused.has_value()) {
    return *std::move(refused);
  }
  const auto time_ns = static_cast<double>(absl::ToInt64Nanoseconds(options_.time));
  const auto since_ns = static_cast<double>(std::max<int64_t>(now_ns - lease.safe_at_ns, 0));
  lease.safe_left = std::min(lease.safe_left + lease.safe_rate * since_ns,
                             std::max(lease.safe_rate * time_ns, cost));
  lease.safe_at_ns = std::max(lease.safe_at_ns, now_ns);
  if (cost > lease.safe_left) {
    const double wait_ns =
        (cost - lease.safe_left) / lease.safe_rate + static_cast<double>(lease.safe_at_ns - now_ns);
    const double left_ns = static_cast<double>(lease.safe_until_ns - now_ns);
    return Refuse(cost, kNoRoom, std::max(absl::Nanoseconds(std::min(wait_ns, left_ns)), kSoon));
  }
  lease.safe_left -= cost;
  lease.safe_spent += cost;
  ++lease.pieces;
  ++stats_.admitted;
  ++stats_.safe;
  stats_.spent += cost;
  return {.admitted = true};
}

Admission LeaseHolder::Refuse(double cost, const Cause& cause,
                              std::optional<absl::Duration> retry_after) {
  Admission admission{.reason = std::get<0>(cause), .retry_after = retry_after};
  if (refusal_ == Refusal::kWaits) return admission;
  ++stats_.refused;
  refused_.Add(cause, cost * predicted_.cost);
  return admission;
}

Admission LeaseHolder::RefuseForRoom(double cost, int64_t now_ns) {
  if (!error_.ok()) {
    needed_ = std::max(needed_, cost);                // the error may pass
    Admission admission{.reason = Reason::kUnknown};  // nobody has refused it
    admission.error = error_;
    return admission;
  }
  if (!held_.empty() && cost > held_.front().largest_piece) {
    return Refuse(cost, {Reason::kMaxCost, LimitKind::kMaxCost, {}, {}, {}}, std::nullopt);
  }
  needed_ = std::max(needed_, cost);
  // One that is over has not run out.
  ran_out_ = ran_out_ || (!held_.empty() && now_ns < held_.back().ends_ns);
  if (!denial_.has_value() || cost < denial_->least) {
    return Refuse(cost, kNoRoom, kSoon);
  }
  if (denial_->until_ns == kNever) return Refuse(cost, denial_->cause, std::nullopt);
  const absl::Duration left = absl::Nanoseconds(denial_->until_ns - now_ns);
  return Refuse(cost, denial_->cause, std::max(left, kSoon));
}

void LeaseHolder::CountAlone(double cost, bool admitted) {
  wanted_ = true;
  needed_ = std::max(needed_, cost);
  if (admitted) ++stats_.local;
}

void LeaseHolder::Settle(double estimate, const WorkDone& done) {
  under_way_ = std::max<int64_t>(under_way_ - 1, 0);
  told_.Add(done, predicted_ * estimate);
}

void LeaseHolder::RetireFront() {
  Held lease = std::move(held_.front());
  held_.pop_front();
  ReturnSafe();
  // Nobody may be there to grant the next one.
  if (lease.safe_rate > 0 && held_.empty() && (asking_ || unreachable_) && !closed_) {
    safe_ = std::move(lease);
  } else {
    Return(std::move(lease));
  }
}

void LeaseHolder::ReturnSafe() {
  if (!safe_.has_value()) return;
  Return(*std::exchange(safe_, std::nullopt));
}

void LeaseHolder::Return(Held lease) {
  LeaseUse use{.spent = std::max(lease.amount - lease.left, 0.0),
               .pieces = lease.pieces,
               .counts = refused_.Take(),
               .identity = options_.identity,
               .target = options_.target,
               .safe_spent = lease.safe_spent,
               .id = jitter_.Number()};
  const double spent = use.spent + use.safe_spent;
  if (lease.pieces > 0) {
    if (options_.piece == 0)
      piece_ = std::max(spent / static_cast<double>(lease.pieces), kLeastPiece);
    PieceCount admitted = lease.admitted;
    admitted.pieces = lease.pieces;
    admitted.cost = spent * lease.predicted.cost;
    use.counts.push_back(std::move(admitted));
  }
  PermitReport report{.permit_id = lease.permit_id.value_or(0)};
  if (lease.permit_id.has_value()) {
    told_.AddTo(report.done, lease.predicted * spent,
                lease.is_plain ? ToldWork::Silence::kIsTold : ToldWork::Silence::kIsPredicted);
  } else {
    told_ = {};  // nothing is charged
    if (use.counts.empty()) return;
  }
  if (!lease.is_plain) report.lease_use.emplace(std::move(use));
  returns_.push_back(std::move(report));
}

// None is kept for its safe rate: somebody has just said that it is not to be used.
void LeaseHolder::RetireUnlike(uint64_t state) {
  if (safe_.has_value() && safe_->state != state) ReturnSafe();
  for (size_t left = held_.size(); left > 0; --left) {
    if (held_.front().state == state) {
      held_.push_back(std::move(held_.front()));
      held_.pop_front();
      continue;
    }
    wanted_ = wanted_ || held_.front().pieces > 0;
    Held lease = std::move(held_.front());
    held_.pop_front();
    Return(std::move(lease));
  }
}

void LeaseHolder::OnState(uint64_t state, int64_t now_ns) {
  const bool is_first = state_ == 0;  // of which it is not known whether it has changed
  state_ = state;
  is_overtaken_ = asking_;
  RetireUnlike(state);
  if (is_first) return;
  denial_.reset();
  if (failures_ == 0) ask_not_before_ns_ = std::min(ask_not_before_ns_, now_ns);
}

void LeaseHolder::RetireOver(int64_t now_ns) {
  while (!held_.empty() && now_ns >= held_.front().ends_ns) RetireFront();
  if (safe_.has_value() && now_ns >= safe_->safe_until_ns) ReturnSafe();
  if (!held_.empty() || refused_.IsEmpty()) return;
  refused_.Notice(now_ns);
  if (now_ns >= CountsDue(now_ns)) ReturnCounts();
}

int64_t LeaseHolder::CountsDue(int64_t now_ns) const {
  if (!held_.empty() || refused_.IsEmpty()) return kNever;
  if (refused_.noticed_ns() == 0) return now_ns;
  return refused_.noticed_ns() + absl::ToInt64Nanoseconds(options_.time);
}

void LeaseHolder::ReturnCounts() {
  refused_.Explain(kNoRoom);
  if (refused_.IsEmpty()) return;
  returns_.push_back({.lease_use = LeaseUse{.counts = refused_.Take(),
                                            .identity = options_.identity,
                                            .target = options_.target,
                                            .id = jitter_.Number()}});
}

void LeaseHolder::Close() {
  closed_ = true;
  refused_.Explain(kNoRoom);
  ReturnSafe();
  while (!held_.empty()) RetireFront();
  ReturnCounts();
}

bool LeaseHolder::WantsAnother(int64_t now_ns) const {
  if (held_.size() >= 2) return false;
  // Its own place would be in the way of the next one.
  if (!held_.empty() && held_.front().one_at_a_time) {
    const bool wants = needed_ > 0 || !waiters_.empty();
    return wants && under_way_ == 0 && held_.front().left < PieceNeeded();
  }
  if (needed_ > 0 || LacksRoomForWaiters(now_ns)) return true;
  if (held_.empty()) return wanted_;
  const Held& lease = held_.front();
  if (lease.pieces == 0) return false;
  return 2 * lease.left <= lease.amount || now_ns >= lease.half_ns;
}

double LeaseHolder::PieceNeeded() const {
  double piece = needed_;
  if (!waiters_.empty()) piece = std::max(piece, waiters_.rbegin()->first);
  return piece > 0 ? piece : piece_;
}

// Whoever waits for room to come piece by piece would ask for each; a holder that spends much asks
// for a part of what it spends, as long as there is ever room for so much.
double LeaseHolder::LeastNeeded() const {
  const double least = PieceNeeded();
  const auto time_ns = static_cast<double>(absl::ToInt64Nanoseconds(options_.time));
  return std::max(std::min(rate_ * time_ns / kPartsOfUse, most_of_least_), least);
}

double LeaseHolder::MostWanted(double least, int64_t now_ns) {
  const auto time_ns = static_cast<double>(absl::ToInt64Nanoseconds(options_.time));
  if (since_ns_ == 0) since_ns_ = now_ns;
  // In a moment anything may be spent.
  if (const auto since = static_cast<double>(now_ns - since_ns_); since >= time_ns / 10) {
    rate_ = std::max(spent_since_ / since, rate_ / 2);
    since_ns_ = now_ns;
    spent_since_ = 0;
  }
  double left = 0;
  for (const Held& lease : held_) left += now_ns < lease.ends_ns ? lease.left : 0;
  double most = kMoreThanUsed * rate_ * time_ns - left;
  if (asked_most_ == 0) most = std::max(most, kFirstPieces * least);
  // What was granted in part is not more for being asked for.
  if (std::exchange(ran_out_, false) && was_whole_) most = std::max(most, 2 * asked_most_);
  return std::clamp(most, least, kMaxCost);
}

std::optional<CheckRequest> LeaseHolder::NextAsk(int64_t now_ns) {
  RetireOver(now_ns);
  if (closed_ || asking_ || !WantsAnother(now_ns)) return std::nullopt;
  const double least = LeastNeeded();
  const bool is_smaller = denial_.has_value() && PieceNeeded() < denial_->least;
  if (now_ns < ask_not_before_ns_ && !is_smaller) return std::nullopt;
  if (!held_.empty() && held_.front().one_at_a_time) RetireFront();
  asking_ = true;
  is_overtaken_ = false;
  asked_least_ = least;
  asked_piece_ = PieceNeeded();
  asked_most_ = MostWanted(least, now_ns);
  asked_at_ns_ = now_ns;
  CheckRequest ask{.identity = options_.identity,
                   .target = options_.target,
                   .estimated_cost = asked_most_,
                   .pattern = options_.pattern,
                   .tags = options_.tags,
                   .max_wait = MostWait(now_ns),
                   .lease = LeaseTerms{.least = least, .time = options_.time}};
  if (options_.safe_time > absl::ZeroDuration()) {
    const double seconds = absl::ToDoubleSeconds(options_.time);
    ask.lease->safe_rate = std::min(rate_ > 0 ? rate_ * 1e9 : asked_most_ / seconds, kMaxCost);
    ask.lease->safe_time = options_.safe_time;
  }
  if (!returns_.empty()) {
    ask.lease->returned = std::move(returns_.front());
    returns_.erase(returns_.begin());
  }
  return ask;
}

absl::Duration LeaseHolder::MostWait(int64_t now_ns) const {
  const Held* const last = held_.empty() ? (safe_.has_value() ? &*safe_ : nullptr) : &held_.back();
  if (last == nullptr || last->safe_rate == 0) return absl::InfiniteDuration();
  return absl::Nanoseconds(std::max<int64_t>(last->ends_ns - now_ns, 0));
}

void LeaseHolder::OnAnswer(const Answer& answer, int64_t now_ns) {
  asking_ = false;
  ReturnSafe();
  unreachable_ = false;
  error_ = absl::OkStatus();
  failures_ = 0;
  ask_not_before_ns_ = 0;
  if (!answer.allowed()) {
    Denial denial{.cause = CauseOf(answer), .least = asked_piece_};
    const absl::Duration again = answer.retry_after.value_or(options_.time);
    ask_not_before_ns_ = now_ns + absl::ToInt64Nanoseconds(std::min(again, kLongestPause * 5));
    if (answer.retry_after.has_value()) denial.until_ns = ask_not_before_ns_;
    if (!answer.retry_after.has_value() && asked_least_ > asked_piece_) {
      // It may never fit for being more than a piece.
      most_of_least_ = asked_least_ / 4;
      denial.until_ns = ask_not_before_ns_ = now_ns;
    }
    // It has stood in line for its time: whoever waits still stands there again.
    if (answer.waited.has_value()) ask_not_before_ns_ = now_ns;
    refused_.Explain(denial.cause);
    denial_ = std::move(denial);
    needed_ = 0;
    wanted_ = false;
    return;
  }
  refused_.Explain(kNoRoom);
  denial_.reset();
  needed_ = 0;
  wanted_ = false;
  // A server that knows no leases has admitted all of it.
  const GrantedLease granted = answer.lease.value_or(
      GrantedLease{.amount = asked_most_, .time = std::min(options_.time, absl::Seconds(1))});
  was_whole_ = granted.amount >= asked_most_;
  const int64_t time_ns = absl::ToInt64Nanoseconds(granted.time);
  // The server's began when its turn had come.
  const int64_t begun_ns =
      asked_at_ns_ + absl::ToInt64Nanoseconds(answer.waited.value_or(absl::ZeroDuration()));
  Held lease{.permit_id = answer.permit_id,
             .amount = granted.amount,
             .left = granted.amount,
             .half_ns = begun_ns + time_ns / 2,
             .ends_ns = begun_ns + time_ns,
             .largest_piece = granted.largest_piece.value_or(kMaxCost),
             .reject_ratio = granted.reject_ratio,
             .one_at_a_time = granted.one_at_a_time,
             .is_plain = !answer.lease.has_value(),
             .state = granted.state};
  if (granted.amount > 0) {
    if (answer.predicted_cost > 0) lease.predicted.cost = answer.predicted_cost / granted.amount;
    const auto busy = answer.predicted_busy_time.value_or(absl::ZeroDuration());
    lease.predicted.busy_seconds = absl::ToDoubleSeconds(busy) / granted.amount;
  }
  predicted_ = lease.predicted;
  if (granted.safe_rate > 0 && answer.permit_id.has_value()) {
    lease.safe_rate = granted.safe_rate / 1e9;
    // The server's lease began no later than now, and no earlier than this one. Of an answer that
    // is repeated the time is what is left of it; a quarter is of all.
    lease.safe_at_ns = now_ns + time_ns + absl::ToInt64Nanoseconds(options_.time) / 4;
    lease.safe_until_ns = lease.ends_ns + absl::ToInt64Nanoseconds(granted.safe_time);
  }
  PieceCount& admitted = lease.admitted;
  std::tie(admitted.reason, admitted.limit_kind, admitted.budget, admitted.rule, admitted.signal) =
      CauseOf(answer);
  held_.push_back(std::move(lease));
  if (!is_overtaken_ || granted.state == state_) return;
  // It may have been decided before the order, and then nobody would take it back.
  RetireUnlike(state_);
  wanted_ = true;
}

void LeaseHolder::OnError(const absl::Status& status, bool unreachable, int64_t now_ns) {
  asking_ = false;
  refused_.Explain(kNoRoom);
  const bool repeats = unreachable || absl::IsResourceExhausted(status);
  error_ = repeats || absl::IsCancelled(status) ? absl::OkStatus() : status;
  if (!error_.ok()) {
    // It may pass: whoever comes again has it asked again.
    needed_ = 0;
    wanted_ = false;
  }
  unreachable_ = unreachable;
  if (!unreachable) ReturnSafe();
  ask_not_before_ns_ =
      now_ns + absl::ToInt64Nanoseconds(jitter_.Backoff(failures_++, kFirstPause, kLongestPause));
}

int64_t LeaseHolder::NextLook(int64_t now_ns) const {
  int64_t look_ns = held_.empty() ? CountsDue(now_ns) : held_.front().ends_ns;
  if (safe_.has_value()) look_ns = std::min(look_ns, safe_->safe_until_ns);
  if (asking_) return look_ns;
  if (WantsAnother(now_ns)) return std::min(look_ns, ask_not_before_ns_);
  // Half of its time is not over yet.
  const bool is_used = held_.size() == 1 && held_.front().pieces > 0;
  return is_used ? std::min(look_ns, held_.front().half_ns) : look_ns;
}

LeaseStats LeaseHolder::stats(int64_t now_ns) const {
  LeaseStats stats = stats_;
  for (const Held& lease : held_) stats.held += now_ns < lease.ends_ns ? lease.left : 0;
  return stats;
}

}  // namespace headgate::client::internal
