#include "client/lease_holder.h"

#include <algorithm>
#include <cmath>
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
constexpr size_t kMostCauses = 99;  // and one for all others

// The one that denied for longest.
const Violation* BindingOf(const Answer& answer, bool warned) {
  const Violation* binding = nullptr;
  const auto wait = [](const Violation& each) {
    return each.retry_after.value_or(absl::InfiniteDuration());
  };
  for (const Violation& each : answer.violations) {
    if (each.warn != warned) continue;
    if (binding == nullptr || wait(each) > wait(*binding)) binding = &each;
  }
  return binding;
}

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
    return Refuse(cost, {Reason::kUnknown, std::nullopt, {}, {}, {}},
                  std::max(absl::Nanoseconds(std::min(wait_ns, left_ns)), kSoon));
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
  const double predicted = cost * (held_.empty() ? 1 : held_.front().predicted);
  // What refuses while an ask is under way its answer says.
  if (asking_ && cause == kNoRoom) {
    unexplained_.Add({1, predicted});
  } else {
    CountRefused(cause, {1, predicted});
  }
  return admission;
}

void LeaseHolder::CountRefused(const Cause& cause, const Count& count) {
  if (count.pieces == 0) return;
  const bool is_known = refused_.contains(cause) || refused_.size() < kMostCauses;
  refused_[is_known ? cause : Cause{std::get<0>(cause), std::nullopt, {}, {}, {}}].Add(count);
}

Admission LeaseHolder::RefuseForRoom(double cost, int64_t now_ns) {
  if (!error_.ok()) {
    Admission admission = Refuse(cost, {Reason::kUnknown, std::nullopt, {}, {}, {}}, std::nullopt);
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
  if (admitted) {
    ++stats_.admitted;
    ++stats_.local;
    stats_.spent += cost;
  } else {
    ++stats_.refused;
  }
}

void LeaseHolder::Settle(double estimate, const WorkDone& done) {
  under_way_ = std::max<int64_t>(under_way_ - 1, 0);
  if (done.actual_cost.has_value()) {
    settled_cost_ = settled_cost_.value_or(0) + *done.actual_cost;
    settled_estimate_ += estimate;
  }
  if (done.busy_time.has_value()) {
    busy_time_ = busy_time_.value_or(absl::ZeroDuration()) + *done.busy_time;
  }
}

void LeaseHolder::RemoveWaiter(double cost) {
  const auto found = waiters_.find(cost);
  if (found != waiters_.end() && --found->second == 0) waiters_.erase(found);
}

std::vector<PieceCount> LeaseHolder::TakeRefused() {
  std::vector<PieceCount> counts;
  if (closed_) CountRefused(kNoRoom, std::exchange(unexplained_, {}));
  for (const auto& [cause, count] : std::exchange(refused_, {})) {
    const auto& [reason, limit_kind, budget, rule, signal] = cause;
    counts.push_back({.verdict = Verdict::kDenied,
                      .reason = reason,
                      .limit_kind = limit_kind,
                      .budget = budget,
                      .rule = rule,
                      .signal = signal,
                      .pieces = count.pieces,
                      .cost = count.cost});
  }
  return counts;
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
               .counts = TakeRefused(),
               .identity = options_.identity,
               .target = options_.target,
               .safe_spent = lease.safe_spent};
  const double spent = use.spent + use.safe_spent;
  if (lease.pieces > 0) {
    if (options_.piece == 0)
      piece_ = std::max(spent / static_cast<double>(lease.pieces), kLeastPiece);
    PieceCount admitted = lease.admitted;
    admitted.pieces = lease.pieces;
    admitted.cost = spent * lease.predicted;
    use.counts.push_back(std::move(admitted));
  }
  if (!lease.permit_id.has_value() && use.counts.empty()) return;
  PermitReport report{.permit_id = lease.permit_id.value_or(0)};
  // Of what nobody has settled the prediction stands.
  if (settled_cost_.has_value() && lease.pieces > 0) {
    const double unsettled = std::max(spent - std::exchange(settled_estimate_, 0), 0.0);
    report.done.actual_cost = *std::exchange(settled_cost_, {}) + lease.predicted * unsettled;
  }
  if (busy_time_.has_value() && lease.pieces > 0) {
    report.done.busy_time = std::exchange(busy_time_, {});
  }
  if (lease.is_plain) {
    if (!report.done.actual_cost.has_value()) {
      report.done.actual_cost = lease.predicted * use.spent;
    }
  } else {
    report.lease_use.emplace(std::move(use));
  }
  returns_.push_back(std::move(report));
}

void LeaseHolder::RetireOver(int64_t now_ns) {
  while (!held_.empty() && now_ns >= held_.front().ends_ns) RetireFront();
  if (safe_.has_value() && now_ns >= safe_->safe_until_ns) ReturnSafe();
}

void LeaseHolder::Close() {
  closed_ = true;
  ReturnSafe();
  while (!held_.empty()) RetireFront();
  CountRefused(kNoRoom, std::exchange(unexplained_, {}));
  if (refused_.empty()) return;
  // Nothing is held: it is only counted.
  returns_.push_back(
      {.lease_use = LeaseUse{
           .counts = TakeRefused(), .identity = options_.identity, .target = options_.target}});
}

std::vector<PermitReport> LeaseHolder::TakeReturns() { return std::exchange(returns_, {}); }

bool LeaseHolder::WantsAnother(int64_t now_ns) const {
  if (held_.size() >= 2) return false;
  // Its own place would be in the way of the next one.
  if (!held_.empty() && held_.front().one_at_a_time) {
    const bool wants = needed_ > 0 || !waiters_.empty();
    return wants && under_way_ == 0 && held_.front().left < PieceNeeded();
  }
  if (needed_ > 0 || !waiters_.empty()) return true;
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
  if (closed_ || asking_ || !error_.ok() || !WantsAnother(now_ns)) return std::nullopt;
  const double least = LeastNeeded();
  const bool is_smaller = denial_.has_value() && least < denial_->least;
  if (now_ns < ask_not_before_ns_ && !is_smaller) return std::nullopt;
  if (!held_.empty() && held_.front().one_at_a_time) RetireFront();
  asking_ = true;
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
  failures_ = 0;
  ask_not_before_ns_ = 0;
  if (!answer.allowed()) {
    Denial denial{.cause = {answer.reason, std::nullopt, {}, {}, {}}, .least = asked_least_};
    if (const Violation* const binding = BindingOf(answer, false); binding != nullptr) {
      denial.cause = {answer.reason, binding->limit_kind, binding->budget, binding->rule,
                      binding->signal};
    }
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
    CountRefused(denial.cause, std::exchange(unexplained_, {}));
    denial_ = std::move(denial);
    needed_ = 0;
    wanted_ = false;
    return;
  }
  CountRefused(kNoRoom, std::exchange(unexplained_, {}));
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
             .admitted = {}};
  if (granted.amount > 0) lease.predicted = answer.predicted_cost / granted.amount;
  if (granted.safe_rate > 0 && answer.permit_id.has_value()) {
    lease.safe_rate = granted.safe_rate / 1e9;
    // The server's lease began no later than now, and no earlier than this one. Of an answer that
    // is repeated the time is what is left of it; a quarter is of all.
    lease.safe_at_ns = now_ns + time_ns + absl::ToInt64Nanoseconds(options_.time) / 4;
    lease.safe_until_ns = lease.ends_ns + absl::ToInt64Nanoseconds(granted.safe_time);
  }
  if (const Violation* const warns = BindingOf(answer, true); warns != nullptr) {
    lease.admitted.limit_kind = warns->limit_kind;
    lease.admitted.budget = warns->budget;
    lease.admitted.rule = warns->rule;
    lease.admitted.signal = warns->signal;
  }
  lease.admitted.reason = answer.reason;
  held_.push_back(std::move(lease));
}

void LeaseHolder::OnError(const absl::Status& status, bool unreachable, int64_t now_ns) {
  asking_ = false;
  CountRefused({Reason::kUnknown, std::nullopt, {}, {}, {}}, std::exchange(unexplained_, {}));
  const bool repeats = unreachable || absl::IsResourceExhausted(status);
  if (!repeats && !absl::IsCancelled(status)) error_ = status;
  unreachable_ = unreachable;
  if (!unreachable) ReturnSafe();
  ask_not_before_ns_ =
      now_ns + absl::ToInt64Nanoseconds(jitter_.Backoff(failures_++, kFirstPause, kLongestPause));
}

int64_t LeaseHolder::NextLook(int64_t now_ns) const {
  int64_t look_ns = held_.empty() ? kNever : held_.front().ends_ns;
  if (safe_.has_value()) look_ns = std::min(look_ns, safe_->safe_until_ns);
  if (asking_ || !error_.ok()) return look_ns;
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
