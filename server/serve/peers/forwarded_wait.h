// ForwardedWait: a call that was forwarded and waits in line here, while its caller is another
// server's.
//
// It is answered to that server. Whether the answer got to the caller the server says by and by;
// then, or when it says that the caller is gone, the call has ended. Where the stream ends before,
// a call without an answer is gone, and one with an answer is taken for delivered: its caller may
// be at work. An answer that the target has another owner ends the call here: whoever forwarded it
// sends it on, and says nothing of it any more.
//
// Thread-safe.
//
//   auto wait = std::make_shared<ForwardedWait>(listener, time_left_ns);
//   wait->SetParked(parking.Park(wait));

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/peer/v1/peer_service.pb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/peers/decider.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::peers {

class ForwardedWait final : public ParkedForward, public transport::ParkListener {
 public:
  using Parked = transport::ParkedCall<peer::v1::ForwardResponse>;

  // `listener` is that of the call; `forget` is called once, when this has ended.
  ForwardedWait(std::shared_ptr<transport::ParkListener> listener, int64_t time_left_ns,
                std::function<void()> forget)
      : ParkedForward(time_left_ns), listener_(std::move(listener)), forget_(std::move(forget)) {}

  // Before anybody answers.
  void SetParked(std::shared_ptr<Parked> parked) { parked_ = std::move(parked); }

  bool Answer(const grpc::Status& /*status*/, ForwardedAnswer& answer) override {
    {
      const MutexLock lock(&mutex_);
      if (state_ != State::kWaiting) return false;
      state_ = State::kAnswered;
    }
    const bool goes_elsewhere = answer.not_the_owner();
    peer::v1::ForwardResponse response;
    response.add_answers()->Swap(&answer);
    if (parked_->Answer(grpc::Status(), response)) {
      if (goes_elsewhere) End(Ending::kGone);
      return true;
    }
    // The stream has ended just now. Whoever answers withdraws what it has answered.
    End(Ending::kSilent);
    return false;
  }

  // What the other server says of the caller.
  void CallerEnded(bool delivered) {
    const State was = End(delivered ? Ending::kDelivered : Ending::kGone);
    // The message is still parked.
    peer::v1::ForwardResponse nothing;
    if (was == State::kWaiting) (void)parked_->Answer(grpc::Status(), nothing);
  }

  // Of the message: the stream has ended.
  void OnGone() override { End(Ending::kGone); }
  void OnAnswered(bool delivered) override {
    if (!delivered) End(Ending::kGone);  // it never left this server
  }
  // Of a stream that has ended.
  void StreamEnded() { End(Ending::kDelivered); }

 private:
  enum class State : uint8_t { kWaiting, kAnswered, kEnded };
  enum class Ending : uint8_t { kDelivered, kGone, kSilent };

  // What it was.
  State End(Ending how) {
    State was = State::kEnded;
    {
      const MutexLock lock(&mutex_);
      was = std::exchange(state_, State::kEnded);
    }
    if (was == State::kEnded) return was;
    if (how == Ending::kSilent) {
      // Whoever answers knows.
    } else if (was == State::kWaiting) {
      listener_->OnGone();
    } else {
      listener_->OnAnswered(how == Ending::kDelivered);
    }
    listener_ = nullptr;
    forget_();
    return was;
  }

  std::shared_ptr<transport::ParkListener> listener_;  // of whoever ends it
  const std::function<void()> forget_;
  std::shared_ptr<Parked> parked_;
  Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kWaiting;
};

}  // namespace headgate::peers
