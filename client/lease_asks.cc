// What a holder of leases asks for, when, and what it makes of the answer.

#include <algorithm>
#include <tuple>
#include <utility>

#include "client/lease_holder.h"

namespace headgate::client::internal {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr double kMoreThanUsed = 1.5;
constexpr double kPartsOfUse = 20;
constexpr double kFirstPieces = 10;  // while nothing is known of the work

}  // namespace

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

}  // namespace headgate::client::internal
