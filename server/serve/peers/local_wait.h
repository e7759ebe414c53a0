// A call that was held because its target had no owner, and that this server decides after all
// since it has become the owner. If the call waits in a line of this server, the line hears of its
// end just as it does for calls that came here first.
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

#include "server/serve/peers/decider.h"
#include "server/serve/peers/outgoing_call.h"

namespace headgate::peers {

class LocalWait final : public ParkedForward, public CallerEndListener {
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
