// The calls of one asynchronous unary method on one loop.
//
// So many calls are posted from the start, and each is posted again when its answer is on the way.
// A caller that does not read keeps its answers from being on the way: if too few are posted others
// join them, so that gRPC always has one at hand; and if too many answers are undelivered, the
// older ones are cancelled. No honest caller is among them: its answer is delivered at once.
//
// A call is decided where it arrives, on one of the loop's threads. That thread parses the request,
// and gRPC has serialised the response when Finish returns: so each thread has one of each for all
// calls, whose memory is reused and stays in the cache. A lock guards what the route knows of its
// calls, and nothing that takes time.
//
// A caller that is gone changes nothing: its answer is not delivered, and the call is posted again.
// A handler may park its call (parked_call.h), which is then none of the undelivered ones until it
// is answered, and counted then: its latency is that of the handler, without the wait.
//
//   loop.Own(std::make_unique<UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
//       service,
//       UnaryRouteOptions{.method = kCheckMethod, .loop = loop, .waiting_calls = 128}, handler));

#pragma once

#include <grpcpp/impl/codegen/async_stream.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/transport/calls.h"
#include "server/serve/transport/parked_call.h"
#include "server/serve/transport/route_thread.h"
#include "server/serve/transport/service.h"
#include "server/serve/transport/serving_loop.h"
#include "server/serve/transport/taken_bytes.h"
#include "server/serve/transport/unary_call.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {

struct UnaryRouteOptions {
  int method = 0;  // its number, as AddAsync returned it
  ServingLoop& loop;
  int waiting_calls = 1;       // that are posted, and wait for callers
  Calls* calls = nullptr;      // count the calls; null: nobody does. They outlive the route
  std::string_view name = {};  // that they are counted by
};

template <typename Request, typename Response>
class UnaryRoute final : public Route {
 public:
  // Runs on the thread of that number. The response is its last one: what is not overwritten stays.
  using Handler =
      std::function<grpc::Status(size_t thread, grpc::ServerContext&, const Request&, Response&)>;

  // Likewise, of calls that may be parked: what is parked is answered by what Park returned.
  using ParkingHandler = std::function<grpc::Status(size_t thread, grpc::ServerContext&,
                                                    const Request&, Response&, Parking<Response>&)>;

  // The service outlives this.
  UnaryRoute(Service& service, const UnaryRouteOptions& options, Handler handler)
      : UnaryRoute(service, options, {.at_once = std::move(handler)}) {}
  UnaryRoute(Service& service, const UnaryRouteOptions& options, ParkingHandler handler)
      : UnaryRoute(service, options, {.parks = std::move(handler)}) {}

  size_t CountUnanswered() override ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    const auto unanswered = [](const Call* call) { return call->is_unanswered(); };
    return parked_ +
           static_cast<size_t>(std::count_if(undelivered_.begin(), undelivered_.end(), unanswered));
  }

 private:
  struct Handlers {  // one of the two
    Handler at_once = nullptr;
    ParkingHandler parks = nullptr;
  };

  UnaryRoute(Service& service, const UnaryRouteOptions& options, Handlers handlers)
      : service_(service),
        method_(options.method),
        loop_(options.loop),
        handlers_(std::move(handlers)),
        parks_(handlers_.parks != nullptr),
        wanted_(options.waiting_calls) {
    if (options.calls != nullptr) {
      if (parks_) parked_counts_ = &options.calls->Shared(options.name);
      for (Thread& thread : threads_) thread.counts = &options.calls->AddThread(options.name);
    }
    const MutexLock lock(&mutex_);
    for (int i = 0; i < wanted_; ++i) Another().Post();
  }

  // Of one method on one loop. Memory for as many calls is kept.
  static constexpr size_t kMaxUndelivered = 2048;
  // How many of the latest answers are let be.
  static constexpr uint64_t kYoung = kMaxUndelivered / 2;
  // Calls that are looked at for each one that comes while there are too many.
  static constexpr int kLooks = 4;

  using Call = UnaryCall<UnaryRoute, Response>;
  friend Call;
  using Thread = RouteThread<Request, Response>;

  // What its calls use.
  bool parks() const { return parks_; }
  ServingLoop& loop() { return loop_; }
  const Response& ResponseOf(size_t thread) const { return threads_[thread].response.message; }
  uint64_t NextNumber() { return answers_.fetch_add(1, std::memory_order_relaxed) + 1; }
  void RequestCall(grpc::ServerContext& context, grpc::ByteBuffer& request,
                   grpc::internal::ServerAsyncStreamingInterface& writer, Event& event) {
    service_.RequestUnary(
        {.method = method_, .context = context, .stream = writer, .loop = loop_, .event = event},
        request);
  }
  void CountRefused(size_t thread, grpc::ServerContext& context, const grpc::Status& status) {
    MethodCalls* const counts = threads_[thread].counts;
    if (counts != nullptr) counts->End(context, 0, status);
  }
  // A parked call's caller is gone.
  void CountGone() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (parked_counts_ != nullptr) parked_counts_->CountGone();
    AddParked(-1);
    const MutexLock lock(&mutex_);
    --parked_;
  }
  void AddParked(int calls) {
    if (loop_.taken() != nullptr) loop_.taken()->AddParked(calls);
  }

  // A call has come.
  void OnCalled(Call& call) ABSL_LOCKS_EXCLUDED(mutex_) {
    Call* another = nullptr;
    {
      const MutexLock lock(&mutex_);
      call.SetTaken();
      --waiting_;
      AddUndelivered(call);
      // While the loop drains as many as ever may come, and are to be held as well.
      const int least = loop_.draining() ? wanted_ : wanted_ / 4;
      if (waiting_ < least && !loop_.stopping()) [[unlikely]]
        another = &Another();
      if (undelivered_.size() > kMaxUndelivered && !loop_.draining()) [[unlikely]]
        CancelSomeOld();
    }
    if (another != nullptr) another->Post();
  }
  void OnDelivered(Call& call) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool again = false;
    {
      const MutexLock lock(&mutex_);
      call.SetDelivered();
      RemoveUndelivered(call);
      again = waiting_ < wanted_;
      if (again) [[likely]]
        ++waiting_;
    }
    if (again) [[likely]] {
      if (!loop_.stopping()) call.Post();
      return;
    }
    call.Rest();
    const MutexLock lock(&mutex_);
    resting_.push_back(&call);
  }
  // A call is parked: nobody expects its answer to be delivered yet.
  void OnParked(Call& call) ABSL_LOCKS_EXCLUDED(mutex_) {
    TellTaken(call, call.untold() + TakenBytes::kHeaders);
    AddParked(1);
    const MutexLock lock(&mutex_);
    RemoveUndelivered(call);
    ++parked_;
  }
  // A parked call is answered, on any thread.
  void OnParkedAnswered(Call& call, const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (parked_counts_ != nullptr) parked_counts_->End(call.context(), 0, status);
    AddParked(-1);
    const MutexLock lock(&mutex_);
    --parked_;
    call.SetNumber(NextNumber());
    AddUndelivered(call);
  }
  void AddUndelivered(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    call.SetPlace(undelivered_.size());
    undelivered_.push_back(&call);
  }
  void RemoveUndelivered(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (call.place() == Call::kNowhere) return;
    undelivered_.back()->SetPlace(call.place());
    undelivered_[call.place()] = undelivered_.back();
    undelivered_.pop_back();
    call.SetPlace(Call::kNowhere);
  }
  // One to be posted.
  Call& Another() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++waiting_;
    if (resting_.empty()) return calls_.emplace_back(*this);
    Call* const call = resting_.back();
    resting_.pop_back();
    return *call;
  }
  // To cancel takes tens of microseconds: a few for each call that comes, in turn.
  void CancelSomeOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const uint64_t answers = answers_.load(std::memory_order_relaxed);
    if (answers < kYoung) return;
    for (int i = 0; i < kLooks; ++i) {
      next_look_ = next_look_ + 1 < undelivered_.size() ? next_look_ + 1 : 0;
      undelivered_[next_look_]->CancelIfOlder(answers - kYoung);
    }
  }

  grpc::Status Answer(size_t thread, Call& call, grpc::ByteBuffer& bytes) {
    MethodCalls* const counts = threads_[thread].counts;
    if (counts == nullptr) return Decide(thread, call, bytes);
    const int64_t started_ns = counts->Begin();
    grpc::Status status = Decide(thread, call, bytes);
    // What is parked may not use its context any more: it may be answered.
    if (call.parked()) [[unlikely]] {
      counts->EndParked(started_ns);
    } else {
      counts->End(call.context(), started_ns, status);
    }
    return status;
  }

  grpc::Status Decide(size_t thread, Call& call, grpc::ByteBuffer& bytes) {
    Thread& on = threads_[thread];
    if (grpc::Status admitted = service_.Admit(call.context()); !admitted.ok()) [[unlikely]]
      return admitted;
    on.request.Decode(bytes);
    bytes.Clear();
    size_t untold = on.request.wire_bytes;
    if (untold >= TakenBytes::kLarge) [[unlikely]]
      TellTaken(call, std::exchange(untold, 0));
    call.SetUntold(untold);
    if (!on.request.complete()) [[unlikely]]
      return on.request.Error();
    if (!parks_) {
      return handlers_.at_once(thread, call.context(), on.request.message, on.response.message);
    }
    return handlers_.parks(thread, call.context(), on.request.message, on.response.message, call);
  }

  void TellTaken(Call& call, size_t bytes) {
    if (loop_.taken() != nullptr) loop_.taken()->Add(call.context().peer(), bytes);
  }

  Service& service_;
  const int method_;
  ServingLoop& loop_;
  const Handlers handlers_;
  const bool parks_;
  MethodCalls* parked_counts_ = nullptr;  // of all threads; null: nobody counts
  std::array<Thread, ServingLoop::kThreads> threads_;
  const int wanted_;
  Mutex mutex_;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // for a caller, or about to
  std::atomic<uint64_t> answers_ = 0;        // relaxed: a number that orders nothing
  size_t next_look_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t parked_ ABSL_GUARDED_BY(mutex_) = 0;  // and not answered
  std::vector<Call*> undelivered_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call*> resting_ ABSL_GUARDED_BY(mutex_);
  // gRPC has their addresses.
  std::deque<Call> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::transport
