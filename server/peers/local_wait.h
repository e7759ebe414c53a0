// A call that was held for want of an owner, and then decided here after all: where it waits in a
// line of this server, its end is told to the line as if it had come here at once.
//
// Thread-safe.
//
//   LocalParking parking(call, time_left_ns);
//   if (decider.Decide(call->request, answer, parking)) call->Take(answer);

#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/peers/decider.h"
#include "server/peers/outgoing_call.h"

namespace headgate::peers {

class LocalWait final : public ParkedForward, public WaitingEnd {
 public:
  LocalWait(std::shared_ptr<OutgoingCall> call, std::shared_ptr<transport::ParkListener> listener,
            int64_t time_left_ns)
      : ParkedForward(time_left_ns), call_(std::move(call)), listener_(std::move(listener)) {}

  bool Answer(const grpc::Status& /*status*/, ForwardedAnswer& answer) override {
    State was = State::kWaiting;
    // acq_rel, here and below: whoever comes second sees what the first has done.
    if (!state_.compare_exchange_strong(was, State::kAnswered, std::memory_order_acq_rel)) {
      return false;
    }
    call_->Take(answer);
    return true;
  }
  void CallerEnded(uint64_t /*number*/, bool delivered) override {
    const State was = state_.exchange(State::kEnded, std::memory_order_acq_rel);
    if (was == State::kEnded) return;
    // Let go of, since the listener has this.
    const std::shared_ptr<transport::ParkListener> listener = std::move(listener_);
    was == State::kWaiting ? listener->OnGone() : listener->OnAnswered(delivered);
  }

 private:
  enum class State : uint8_t { kWaiting, kAnswered, kEnded };

  const std::shared_ptr<OutgoingCall> call_;
  std::shared_ptr<transport::ParkListener> listener_;  // of whoever ends it
  std::atomic<State> state_{State::kWaiting};
};

class LocalParking final : public ForwardParking {
 public:
  LocalParking(std::shared_ptr<OutgoingCall> call, int64_t time_left_ns)
      : call_(std::move(call)), time_left_ns_(time_left_ns) {}

  std::shared_ptr<ParkedForward> Park(std::shared_ptr<transport::ParkListener> listener) override {
    auto wait = std::make_shared<LocalWait>(call_, std::move(listener), time_left_ns_);
    if (!call_->SetSent(wait, 0)) wait->CallerEnded(0, false);
    return wait;
  }

 private:
  const std::shared_ptr<OutgoingCall> call_;
  const int64_t time_left_ns_;
};

}  // namespace headgate::peers
