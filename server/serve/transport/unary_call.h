// One posted call of a UnaryRoute, from its caller's coming until it is posted again.
//
// What keeps a call from that is told by bits: its handler, which runs or has not been answered
// yet; gRPC's notice that the call is over, where the route parks; and the end of its answer.
// Whoever clears the last one gives the call back. Of handler and notice of a parked call the
// later one looks whether the caller left without an answer.

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/parked_call.h"
#include "server/serve/transport/serving_loop.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {

template <typename Route, typename Response>
class UnaryCall final : public Event, public HeldCall, public Parking<Response> {
 public:
  static constexpr size_t kNowhere = SIZE_MAX;

  explicit UnaryCall(Route& route) : route_(route) {}

  void Post() {
    if (rpc_ == nullptr) rpc_ = std::make_unique<std::optional<Rpc>>();
    rpc_->emplace();
    if (route_.parks()) context().AsyncNotifyWhenDone(static_cast<Event*>(&notice_));
    route_.RequestCall(context(), request_, (*rpc_)->writer, *this);
  }

  void Done(bool ok, size_t thread) override {
    if (taken_) return AnswerEnded(ok);
    if (!ok) return route_.loop().OnServerShutDown();
    // The queue that an answer would go through is shut.
    if (route_.loop().stopping()) [[unlikely]]
      return;
    // A call that waits, to be held or to be posted again, keeps none of them.
    grpc::ByteBuffer bytes;
    bytes.Swap(&request_);
    route_.OnCalled(*this);
    if (route_.loop().draining()) [[unlikely]]
      return route_.loop().Hold(*this, thread);
    const grpc::Status status = route_.Answer(thread, *this, bytes);
    if (parked_ != nullptr) [[unlikely]]
      return LookWhetherGone(kHandler, kNotice);
    number_.store(route_.NextNumber(), std::memory_order_relaxed);
    // Before Finish returns the other thread may have posted the call again.
    (*rpc_)->writer.Finish({route_.ResponseOf(thread)}, status, static_cast<Event*>(this));
  }

  void Refuse(size_t thread) override {
    const grpc::Status status = ShuttingDown();
    route_.CountRefused(thread, context(), status);
    number_.store(route_.NextNumber(), std::memory_order_relaxed);
    (*rpc_)->writer.FinishWithError(status, static_cast<Event*>(this));
  }

  std::shared_ptr<ParkedCall<Response>> Park(std::shared_ptr<ParkListener> listener) override {
    route_.OnParked(*this);
    parked_ = std::make_shared<Parked>(*this, std::move(listener));
    return parked_;
  }

  void AddMetadata(const char* key, const std::string& value) override {
    context().AddTrailingMetadata(key, value);
  }

  grpc::ServerContext& context() { return (*rpc_)->context; }
  bool parked() const { return parked_ != nullptr; }

  // Gives back what the last call held.
  void Rest() { rpc_.reset(); }

  // The rest is the route's, under its lock.
  void SetTaken() {
    taken_ = true;
    number_.store(kUnanswered, std::memory_order_relaxed);
  }
  void SetDelivered() { taken_ = false; }
  // Bytes that it brought, and of which nobody was told.
  void SetUntold(size_t bytes) { untold_ = bytes; }
  size_t untold() const { return untold_; }
  void SetNumber(uint64_t number) { number_.store(number, std::memory_order_relaxed); }
  bool is_unanswered() const { return number_.load(std::memory_order_relaxed) == kUnanswered; }
  void CancelIfOlder(uint64_t number) {
    if (number_.load(std::memory_order_relaxed) < number) context().TryCancel();
  }
  size_t place() const { return place_; }
  void SetPlace(size_t place) { place_ = place; }

 private:
  static constexpr uint64_t kUnanswered = UINT64_MAX;
  static constexpr int kHandler = 1;
  static constexpr int kNotice = 2;
  static constexpr int kAnswer = 4;

  struct Rpc {
    grpc::ServerContext context;  // good for one call only
    grpc::ServerAsyncResponseWriter<Encodable<Response>> writer{&context};
  };

  class Parked final : public ParkedCall<Response> {
   public:
    Parked(UnaryCall& call, std::shared_ptr<ParkListener> listener)
        : ParkedCall<Response>(TimeLeftNsOf(call.context())),
          call_(&call),
          listener_(std::move(listener)) {}

    bool Answer(const grpc::Status& status, Response& response) override {
      const MutexLock lock(&mutex_);
      if (call_ == nullptr) return false;
      UnaryCall& call = *call_;
      if (!call.route_.loop().WhileQueueIsOpen([&] {
            call.route_.OnParkedAnswered(call, status);
            (*call.rpc_)->writer.Finish({response}, status, static_cast<Event*>(&call));
          })) {
        return false;
      }
      call_ = nullptr;
      return true;
    }
    // Null: there is an answer.
    std::shared_ptr<ParkListener> TakeIfUnanswered() {
      const MutexLock lock(&mutex_);
      if (std::exchange(call_, nullptr) == nullptr) return nullptr;
      return std::move(listener_);
    }
    // Whoever answers no longer uses the call afterwards.
    std::shared_ptr<ParkListener> Take() {
      const MutexLock lock(&mutex_);
      return std::move(listener_);
    }

   private:
    Mutex mutex_;
    UnaryCall* call_ ABSL_GUARDED_BY(mutex_);  // null: it is answered, or gone
    std::shared_ptr<ParkListener> listener_ ABSL_GUARDED_BY(mutex_);
  };

  // The call is over: its answer is sent, or its caller is gone.
  class Notice final : public Event {
   public:
    explicit Notice(UnaryCall& call) : call_(call) {}
    void Done(bool /*ok*/, size_t /*thread*/) override { call_.LookWhetherGone(kNotice, kHandler); }

   private:
    UnaryCall& call_;
  };

  int AllBits() const { return kHandler | kAnswer | (route_.parks() ? kNotice : 0); }

  void AnswerEnded(bool ok) {
    sent_ = ok;
    Clear(parked_ == nullptr ? kAnswer | kHandler : kAnswer);
  }

  // acq_rel, all: whoever clears the last bit sees what the others did.
  void LookWhetherGone(int mine, int other) {
    int bits = bits_.load(std::memory_order_acquire);
    while ((bits & other) != 0) {
      if (bits_.compare_exchange_weak(bits, bits & ~mine, std::memory_order_acq_rel)) return;
    }
    std::shared_ptr<ParkListener> gone;
    if (parked_ != nullptr) gone = parked_->TakeIfUnanswered();
    if (gone == nullptr) return Clear(mine);
    route_.CountGone();
    gone->OnGone();
    parked_ = nullptr;
    Clear(mine | kAnswer);
  }
  void Clear(int bits) {
    if ((bits_.fetch_and(~bits, std::memory_order_acq_rel) & ~bits) == 0) GiveBack();
  }
  void GiveBack() {
    if (parked_ != nullptr) [[unlikely]] {
      const auto listener = std::exchange(parked_, nullptr)->Take();
      listener->OnAnswered(sent_ && !context().IsCancelled());
    }
    // Before the call is posted, as its notice may come before it is taken. relaxed: posting
    // orders.
    bits_.store(AllBits(), std::memory_order_relaxed);
    route_.OnDelivered(*this);
  }

  Route& route_;
  grpc::ByteBuffer request_;
  Notice notice_{*this};
  std::atomic<int> bits_ = AllBits();
  // Changed under the route's lock, by whoever has the call, and so read by that thread without.
  bool taken_ = false;  // and its answer not delivered
  bool sent_ = false;
  size_t place_ = kNowhere;  // among the undelivered
  size_t untold_ = 0;        // of the thread that has the call
  // Of the answer; relaxed: it orders nothing.
  std::atomic<uint64_t> number_ = kUnanswered;
  std::shared_ptr<Parked> parked_;
  std::unique_ptr<std::optional<Rpc>> rpc_;  // null: the call rests
};

}  // namespace headgate::transport
