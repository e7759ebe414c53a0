#include "tests/sim/leases/holder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace headgate::leases {
namespace {

using client::internal::LeaseHolder;

constexpr absl::Duration kDeadline = absl::Milliseconds(250);
constexpr absl::Duration kReportAgain = absl::Milliseconds(300);

}  // namespace

Holder::Holder(Timeline& timeline, Cluster& cluster, Observer& observer, HolderNature nature,
               Broken broken)
    : timeline_(timeline),
      cluster_(cluster),
      observer_(observer),
      nature_(std::move(nature)),
      broken_(broken),
      chance_(timeline.chance().Next()),
      link_(timeline, chance_) {}

int64_t Holder::Clock() const {
  const int64_t now_ns = timeline_.now_ns();
  return clock_offset_ns_ + (broken_ == Broken::kClock ? now_ns / 2 : now_ns);
}

void Holder::Start() {
  Renew();
  Tick();
}

void Holder::Renew() {
  jitter_ = std::make_unique<client::internal::Jitter>(chance_.Next());
  holder_ = std::make_unique<LeaseHolder>(
      client::LeaseOptions{
          .identity = nature_.identity, .time = nature_.time, .safe_time = nature_.safe_time},
      *jitter_);
  reference_ = std::make_unique<HolderReference>();
  call_.reset();
  under_way_.clear();
  waits_for_ = 0;
}

void Holder::Die() {
  unsent_.clear();
  Renew();
}

void Holder::Close() {
  holder_->Close();
  if (call_.has_value()) Failed(absl::CancelledError("closed"), false);
  holder_->Close();  // what it has told in vain
  for (const client::PermitReport& report : holder_->TakeReturns()) {
    Hear(report);
    Deliver(report);
  }
  if (const std::string missing = reference_->Missing(); !missing.empty()) {
    timeline_.Violate(absl::StrCat(nature_.identity, " ", missing));
  }
  Renew();
}

void Holder::Stall(absl::Duration time) {
  stalled_until_ns_ = timeline_.now_ns() + absl::ToInt64Nanoseconds(time);
}

void Holder::SetClock(absl::Duration by) {
  if (nature_.safe_time > absl::ZeroDuration()) return;
  clock_offset_ns_ += absl::ToInt64Nanoseconds(by);
  if (by > absl::ZeroDuration()) return;
  // Until the leases of before are over.
  set_back_until_ns_ = std::max(set_back_until_ns_, timeline_.now_ns()) +
                       absl::ToInt64Nanoseconds(-by + 2 * nature_.time + kDeadline);
}

bool Holder::Postpone(const std::function<void()>& what) {
  const int64_t left_ns = stalled_until_ns_ - timeline_.now_ns();
  if (left_ns <= 0) return false;
  timeline_.After(absl::Nanoseconds(left_ns), what);
  return true;
}

void Holder::Tick() {
  if (Postpone([this] { Tick(); })) return;
  FinishPieces();
  if (waits_for_ > 0 && TryPiece(waits_for_, LeaseHolder::Refusal::kWaits)) {
    holder_->RemoveWaiter(waits_for_);
    waits_for_ = 0;
  }
  for (int i = 0; i < nature_.pieces_at_once; ++i) {
    const double cost = chance_.Uniform(nature_.least_piece, nature_.largest_piece);
    if (holder_->IsAlone(Clock())) {
      holder_->CountAlone(cost, false);
      break;
    }
    if (TryPiece(cost, LeaseHolder::Refusal::kCounts)) continue;
    if (waits_for_ == 0 && chance_.Happens(0.3)) holder_->AddWaiter(waits_for_ = cost);
    break;
  }
  Work();
  timeline_.After(nature_.pause * chance_.Uniform(0.5, 1.5), [this] { Tick(); });
}

bool Holder::TryPiece(double cost, LeaseHolder::Refusal refusal) {
  const client::Admission admission = holder_->Admit(cost, Clock(), refusal);
  reference_->Look(cost, Clock());
  if (!admission.admitted) {
    if (refusal == LeaseHolder::Refusal::kCounts) reference_->CountRefused();
    return false;
  }
  ++admitted_;
  const auto [lease, is_safe] = reference_->Take(cost, Clock());
  if (is_safe) {
    observer_.SpentSafely(lease, cost);
    return true;
  }
  const bool is_set_back = timeline_.now_ns() < set_back_until_ns_;
  observer_.Spent(lease, cost, is_set_back ? Observer::Clock::kSetBack : Observer::Clock::kRight);
  if (lease == nullptr) return true;
  if (nature_.team != kDoors && nature_.team != kPaid) return true;
  under_way_.emplace_back(lease, cost);
  if (++lease->under_way > 1 && lease->has_place) {
    timeline_.Violate("two pieces of a lease that has one place");
  }
  return true;
}

void Holder::FinishPieces() {
  for (const auto& [lease, cost] : std::exchange(under_way_, {})) {
    --lease->under_way;
    client::WorkDone done;
    if (nature_.team == kPaid && chance_.Happens(0.8)) {
      done.actual_cost = cost * chance_.Uniform(0.3, 1.5);
    }
    holder_->Settle(cost, done);
  }
}

void Holder::Hear(const client::PermitReport& report) {
  const std::string wrong = reference_->Hear(report);
  if (!wrong.empty()) timeline_.Violate(absl::StrCat(nature_.identity, " ", wrong));
}

void Holder::Work() {
  std::optional<client::CheckRequest> ask = holder_->NextAsk(Clock());
  if (ask.has_value() && ask->lease->returned.has_value()) Hear(*ask->lease->returned);
  for (const client::PermitReport& report : holder_->TakeReturns()) {
    Hear(report);
    Deliver(report);
  }
  if (ask.has_value()) Begin(*std::move(ask));
}

void Holder::Begin(client::CheckRequest ask) {
  const absl::Duration max_wait =
      nature_.waits_in_line ? std::min(nature_.time, ask.max_wait) : absl::ZeroDuration();
  call_ = Call{
      .number = ++numbers_, .ask = std::move(ask), .asked_at_ns = Clock(), .max_wait = max_wait};
  const uint64_t number = call_->number;
  Attempt(number);
  timeline_.After(max_wait + kDeadline, [this, number] { GiveUp(number); });
}

void Holder::GiveUp(uint64_t number) {
  if (!call_.has_value() || call_->number != number) return;
  if (Postpone([this, number] { GiveUp(number); })) return;
  Failed(absl::DeadlineExceededError("no answer"), true);
}

void Holder::Attempt(uint64_t number) {
  if (!call_.has_value() || call_->number != number) return;
  const client::CheckRequest& ask = call_->ask;
  const leases::Ask sent{.what = {.identity = nature_.identity,
                                  .team = nature_.team,
                                  .target = nature_.target,
                                  .least = ask.lease->least,
                                  .most = *ask.estimated_cost},
                         .request_id = absl::StrCat(nature_.identity, "-", number),
                         .returned = ask.lease->returned,
                         .time = ask.lease->time,
                         .safe_rate = ask.lease->safe_rate,
                         .safe_time = ask.lease->safe_time,
                         .max_wait = call_->max_wait};
  link_.Send(Link::kToServer, [this, number, sent] {
    cluster_.Ask(sent, [this, number, sent](const Reply& reply) {
      const bool is_sent =
          link_.Send(Link::kToClient, [this, number, reply] { Arrived(number, reply); });
      if (is_sent || reply.lease == nullptr || !chance_.Happens(0.5)) return;
      // The server may find out that nobody has got it.
      timeline_.After(chance_.Between(absl::ZeroDuration(), absl::Milliseconds(50)),
                      [this, sent, reply] { cluster_.Withdraw(sent, reply); });
    });
  });
  // Its connection may break, and it asks again.
  if (chance_.Happens(0.05)) {
    timeline_.After(chance_.Between(absl::ZeroDuration(), absl::Milliseconds(100)),
                    [this, number] { Attempt(number); });
  }
}

void Holder::Arrived(uint64_t number, const Reply& reply) {
  if (!call_.has_value() || call_->number != number) return;
  if (Postpone([this, number, reply] { Arrived(number, reply); })) return;
  if (absl::IsUnavailable(reply.status)) {
    timeline_.After(chance_.Between(absl::Milliseconds(10), absl::Milliseconds(60)),
                    [this, number] { Attempt(number); });
    return;
  }
  if (!reply.status.ok()) return Failed(reply.status, false);
  const int64_t begun_ns =
      call_->asked_at_ns +
      absl::ToInt64Nanoseconds(reply.answer.waited.value_or(absl::ZeroDuration()));
  call_.reset();
  holder_->OnAnswer(reply.answer, Clock());
  if (reply.answer.lease.has_value()) {
    reference_->Hold(reply.lease, *reply.answer.lease,
                     begun_ns + absl::ToInt64Nanoseconds(reply.answer.lease->time));
  }
  Work();
}

void Holder::Failed(const absl::Status& status, bool unreachable) {
  const client::CheckRequest ask = std::exchange(call_, std::nullopt)->ask;
  // It may not have arrived; to say it twice is harmless.
  if (ask.lease->returned.has_value()) Deliver(*ask.lease->returned);
  holder_->OnError(status, unreachable, Clock());
}

void Holder::Deliver(const client::PermitReport& report) {
  const uint64_t number = ++numbers_;
  unsent_.emplace(number, report);
  timeline_.After(chance_.Between(absl::Milliseconds(1), absl::Milliseconds(50)),
                  [this, number] { SendReport(number); });
}

void Holder::SendReport(uint64_t number) {
  const auto report = unsent_.find(number);
  if (report == unsent_.end()) return;
  if (Postpone([this, number] { SendReport(number); })) return;
  link_.Send(Link::kToServer, [this, number, sent = report->second] {
    if (!cluster_.Report(nature_.target, sent)) return;
    link_.Send(Link::kToClient, [this, number] { unsent_.erase(number); });
  });
  timeline_.After(kReportAgain, [this, number] { SendReport(number); });
}

}  // namespace headgate::leases
