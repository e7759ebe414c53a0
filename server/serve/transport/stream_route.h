// The calls of one method on one loop that is a stream both ways: each message is answered before
// the next one is read, unless its handler parks it (parked_call.h). Parked ones are answered in
// whatever order, and others are read meanwhile. Where messages have a `number`, the answer bears
// its request's.
//
// A few calls wait for callers; each that gets one posts another in its place, and is deleted when
// it ends (stream_call.h). Over a limit a stream is refused with RESOURCE_EXHAUSTED; when the
// server drains, streams end with UNAVAILABLE, behind the answers they are writing. A half-close
// waits for what is parked. A lock guards which calls there are.
//
//   loop.Own(std::make_unique<StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
//       service,
//       StreamRouteOptions{.method = kCheckStreamMethod, .loop = loop, .count = count,
//                          .admission = admission, .calls = calls, .name = "CheckStream"},
//       handler));

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "server/serve/transport/calls.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/parked_call.h"
#include "server/serve/transport/route_thread.h"
#include "server/serve/transport/service.h"
#include "server/serve/transport/serving_loop.h"
#include "server/serve/transport/stream_call.h"
#include "server/serve/transport/stream_count.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {

// Of one stream, that are parked, where its route says nothing else.
inline constexpr size_t kMaxParkedMessages = 1024;

// Whether a caller may have a stream at all, and its name, which may be none; each of its messages
// is the handler's to judge. Asked on the thread of that number.
using StreamAdmission =
    std::function<grpc::Status(size_t thread, grpc::ServerContext&, std::string& caller)>;

struct StreamRouteOptions {
  int method = 0;  // its number, as AddAsync returned it
  ServingLoop& loop;
  StreamCount& count;  // outlives the route
  StreamAdmission admission;
  Calls& calls;           // outlive the route
  std::string_view name;  // that messages are timed and ends are counted by
  size_t max_parked = kMaxParkedMessages;
  // Told of each stream that had been admitted, once nothing of it is handled any more, on a thread
  // of the loop. Null: nobody is.
  std::function<void(grpc::ServerContext&)> on_end = nullptr;
};

template <typename Request, typename Response>
class StreamRoute final : public Route {
 public:
  // Answers one message, on the thread of that number. The response is its last one: what is not
  // overwritten stays. An error ends the stream.
  using Handler =
      std::function<grpc::Status(size_t thread, grpc::ServerContext&, const Request&, Response&)>;

  // Likewise, of messages that may be parked: what is parked is answered by what Park returned.
  using ParkingHandler = std::function<grpc::Status(size_t thread, grpc::ServerContext&,
                                                    const Request&, Response&, Parking<Response>&)>;

  // The service outlives this.
  StreamRoute(Service& service, const StreamRouteOptions& options, Handler handler)
      : StreamRoute(service, options,
                    ParkingHandler([handler = std::move(handler)](size_t thread, auto& context,
                                                                  auto& request, auto& response,
                                                                  auto& /*parking*/) {
                      return handler(thread, context, request, response);
                    })) {}
  StreamRoute(Service& service, const StreamRouteOptions& options, ParkingHandler handler)
      : service_(service),
        method_(options.method),
        loop_(options.loop),
        count_(options.count),
        admission_(options.admission),
        handler_(std::move(handler)),
        max_parked_(options.max_parked),
        on_end_(options.on_end),
        parked_counts_(options.calls.Shared(options.name)) {
    for (Thread& thread : threads_) thread.counts = &options.calls.AddThread(options.name);
    for (int i = 0; i < kWaitingCalls; ++i) Post();
  }
  ~StreamRoute() override { assert(calls_.empty()); }

  // Ends are events of their own: nothing is removed meanwhile.
  void Drain(size_t thread) override {
    const MutexLock lock(&mutex_);
    for (const auto& [call, owned] : calls_) call->Drain(thread);
  }

  size_t CountUnanswered() override ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return static_cast<size_t>(std::count_if(
        calls_.begin(), calls_.end(), [](const auto& entry) { return entry.second->IsOpen(); }));
  }

 private:
  static constexpr int kWaitingCalls = 16;

  using Call = StreamCall<StreamRoute, Response>;
  friend Call;
  using Thread = RouteThread<Request, Response>;

  // What its calls use.
  ServingLoop& loop() { return loop_; }
  size_t max_parked() const { return max_parked_; }
  Thread& ThreadOf(size_t thread) { return threads_[thread]; }
  MethodCalls& parked_counts() { return parked_counts_; }
  void RequestCall(grpc::ServerContext& context,
                   grpc::internal::ServerAsyncStreamingInterface& stream, Event& event) {
    service_.RequestStream(
        {.method = method_, .context = context, .stream = stream, .loop = loop_, .event = event});
  }
  grpc::Status Handle(size_t thread, grpc::ServerContext& context, const Request& request,
                      Response& response, Parking<Response>& parking) {
    return handler_(thread, context, request, response, parking);
  }
  // Whether a caller that came may have a stream.
  grpc::Status Accept(size_t thread, grpc::ServerContext& context, std::string& caller,
                      bool& counted) {
    Post();
    if (grpc::Status admitted = service_.Admit(context); !admitted.ok()) return admitted;
    // Before it is counted: whoever may not have one cannot hold those of others.
    if (grpc::Status admitted = admission_(thread, context, caller); !admitted.ok()) {
      return admitted;
    }
    const StreamCount::Outcome outcome = count_.TryOpen(caller);
    counted = outcome == StreamCount::Outcome::kOpened;
    return counted ? grpc::Status() : NoRoom(outcome, caller);
  }
  // A stream that was counted has ended.
  void Close(const std::string& caller) { count_.Close(caller); }
  grpc::Status NoRoom(StreamCount::Outcome outcome, const std::string& caller) const {
    std::string what = absl::StrCat("no room for another ", threads_[0].counts->method());
    if (outcome == StreamCount::Outcome::kTooManyOfCaller) {
      absl::StrAppend(&what, " of caller ", caller, ", which has as many as one may");
    }
    return Overloaded("TOO_MANY_STREAMS", what);
  }

  void Post() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (loop_.stopping()) return;
    auto call = std::make_unique<Call>(*this);
    Call* const posted = call.get();
    {
      const MutexLock lock(&mutex_);
      calls_.emplace(posted, std::move(call));
    }
    posted->Post();
  }

  void Remove(Call* call) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::unique_ptr<Call> removed;  // destroyed without the lock
    {
      const MutexLock lock(&mutex_);
      const auto found = calls_.find(call);
      removed = std::move(found->second);
      calls_.erase(found);
      if (call->counted()) Close(call->caller());
    }
    if (on_end_ && removed->opened()) on_end_(removed->context());
  }

  Service& service_;
  const int method_;
  ServingLoop& loop_;
  StreamCount& count_;
  const StreamAdmission admission_;
  const ParkingHandler handler_;
  const size_t max_parked_;                                 // of one stream
  const std::function<void(grpc::ServerContext&)> on_end_;  // null: nobody is told
  MethodCalls& parked_counts_;                              // of threads that are not the loop's
  std::array<Thread, ServingLoop::kThreads> threads_;
  Mutex mutex_;
  absl::flat_hash_map<Call*, std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::transport
