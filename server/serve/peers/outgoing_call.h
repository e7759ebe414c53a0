// OutgoingCall: one call, or a part of one, on its way to the server that decides.
//
// It keeps its request until that is sent, and is answered once: by the owner, or by whoever gives
// up. If it waits in the owner's line, the owner is told when the caller has the answer or is gone;
// SetSent says whom to tell.
//
// Thread-safe, but that `request` belongs to whoever has the call: its maker, the forwarder that
// holds it, or the stream that sends it.
//
//   auto call = std::make_shared<OutgoingCallOf<v1::CheckResponse>>(std::move(options), bytes);
//   if (!call->Park(parking)) return NoRoom();
//   forwarder.Route(std::move(call));

#pragma once

#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>
#include <headgate/peer/v1/peer_service.pb.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/peers/caller_end_listener.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::peers {

using peer::v1::ForwardedAnswer;
using peer::v1::ForwardedCall;

// To whom a call goes: the owner of a target, whoever that is, or one server.
struct Destination {
  std::string target = {};  // as the configuration has it; of no interest where there is an address
  std::string address = {};  // empty: to the owner
};

// Is told what owners answer. Thread-safe.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  virtual void OnAnswer(const std::string& target, const ForwardedAnswer& answer) = 0;
};

class OutgoingCall : public transport::ParkListener {
 public:
  // What gRPC has for a parked call, nearly all of what one takes.
  static constexpr int64_t kBytesOfCall = 15'000;

  // `taken`, which outlives this, counts the bytes that all take.
  OutgoingCall(Destination to, bool waits, ForwardedCall its_request, std::atomic<int64_t>& taken)
      : request(std::move(its_request)),
        to_(std::move(to)),
        waits_(waits),
        request_bytes_(request.ByteSizeLong()),
        taken_(taken) {
    // relaxed, here and below: a bound.
    taken_.fetch_add(bytes(), std::memory_order_relaxed);
  }
  ~OutgoingCall() override { taken_.fetch_sub(bytes(), std::memory_order_relaxed); }

  const Destination& to() const { return to_; }
  // Whether it may wait in the owner's line.
  bool waits() const { return waits_; }
  // When to give up, by the monotonic clock.
  int64_t until_ns() const { return until_ns_; }
  void SetUntil(int64_t until_ns) { until_ns_ = until_ns; }
  // Its caller has set no deadline: it is bounded while it is held, and not while it waits.
  void SetEndless() { endless_ = true; }
  bool endless() const { return endless_; }
  // Whether its caller has ended. relaxed: it saves work.
  bool gone() const { return gone_.load(std::memory_order_relaxed); }

  // Before it is sent. The listener outlives it.
  void SetListener(AnswerListener* listener) { answers_ = listener; }

  // It is sent in a message of this number, where it may wait. False: its caller is gone already.
  bool SetSent(std::shared_ptr<CallerEndListener> end, uint64_t number)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    if (gone_.load(std::memory_order_relaxed)) return false;
    end_ = std::move(end);
    number_ = number;
    return true;
  }
  // Its message came back: it is to be sent once more.
  void SetReturned() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    end_ = nullptr;
  }

  // What the owner says.
  void Take(ForwardedAnswer& answer) {
    if (answer.has_error()) return Fail(StatusOf(answer.error()));
    if (answers_ != nullptr) answers_->OnAnswer(to_.target, answer);
    if (!SendResponse(answer)) Tell(false);
  }
  // Whatever the owner may say is too late from then on.
  void Fail(const grpc::Status& status) {
    Tell(false);
    SendError(status);
  }

  void OnGone() override { Tell(false); }
  void OnAnswered(bool delivered) override { Tell(delivered); }

  size_t request_bytes() const { return request_bytes_; }

  ForwardedCall request;

 protected:
  // False: nobody waits for it any more.
  virtual bool SendResponse(ForwardedAnswer& answer) = 0;
  virtual void SendError(const grpc::Status& status) = 0;

 private:
  static grpc::Status StatusOf(const google::rpc::Status& status) {
    return {static_cast<grpc::StatusCode>(status.code()), status.message(),
            status.SerializeAsString()};
  }
  void Tell(bool delivered) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<CallerEndListener> end;
    uint64_t number = 0;
    {
      const MutexLock lock(&mutex_);
      gone_.store(true, std::memory_order_relaxed);
      end = std::move(end_);
      number = number_;
    }
    if (end != nullptr) end->CallerEnded(number, delivered);
  }

  int64_t bytes() const { return kBytesOfCall + static_cast<int64_t>(request_bytes_); }

  const Destination to_;
  const bool waits_;
  const size_t request_bytes_;
  std::atomic<int64_t>& taken_;
  AnswerListener* answers_ = nullptr;  // null: nobody wants to know
  int64_t until_ns_ = INT64_MAX;
  bool endless_ = false;
  std::atomic<bool> gone_ = false;  // the caller has ended; changed under the lock
  Mutex mutex_;
  std::shared_ptr<CallerEndListener> end_ ABSL_GUARDED_BY(mutex_);  // null: nobody is to be told
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;
};

template <typename Response>
class OutgoingCallOf final : public OutgoingCall,
                             public std::enable_shared_from_this<OutgoingCallOf<Response>> {
 public:
  using OutgoingCall::OutgoingCall;

  // False: it cannot be parked. How long it has left is then known.
  bool Park(transport::Parking<Response>& parking) {
    parked_ = parking.Park(this->shared_from_this());
    return parked_ != nullptr;
  }
  int64_t time_left_ns() const { return parked_->time_left_ns(); }

 private:
  bool SendResponse(ForwardedAnswer& answer) override {
    return parked_->Answer(grpc::Status(), ResponseOf(answer));
  }
  void SendError(const grpc::Status& status) override {
    Response response;
    (void)parked_->Answer(status, response);  // nobody may wait for it any more
  }
  static Response& ResponseOf(ForwardedAnswer& answer) {
    if constexpr (std::is_same_v<Response, headgate::v1::CheckResponse>) {
      return *answer.mutable_check();
    } else if constexpr (std::is_same_v<Response, headgate::v1::BatchCheckResponse>) {
      return *answer.mutable_batch();
    } else {
      return *answer.mutable_report();
    }
  }

  std::shared_ptr<transport::ParkedCall<Response>> parked_;
};

}  // namespace headgate::peers
