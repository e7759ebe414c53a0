#include "client/lease_holder.h"

#include <algorithm>
#include <utility>

namespace headgate::client::internal {
namespace {

// Where a lease is under way, or nobody can say more.
constexpr absl::Duration kSoon = absl::Milliseconds(5);
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
    Return(lease);
  }
}

void LeaseHolder::ReturnSafe() {
  if (!safe_.has_value()) return;
  Return(*std::exchange(safe_, std::nullopt));
}

void LeaseHolder::Return(const Held& lease) {
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
    const Held lease = std::move(held_.front());
    held_.pop_front();
    Return(lease);
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

LeaseStats LeaseHolder::stats(int64_t now_ns) const {
  LeaseStats stats = stats_;
  for (const Held& lease : held_) stats.held += now_ns < lease.ends_ns ? lease.left : 0;
  return stats;
}

}  // namespace headgate::client::internal
