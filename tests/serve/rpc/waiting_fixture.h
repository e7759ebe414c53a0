// Callers that wait in the lines of a server: how they ask, and what they are told.
//
// Thread-compatible; each caller has a thread of its own.
//
//   WaitingCaller caller(server.channel, WaitingCheck("job:etl", 50, absl::Seconds(60)));
//   ASSERT_TRUE(Waiting(server, 1));
//   server.Advance(absl::Seconds(5));
//   EXPECT_EQ(caller.Decision().verdict(), v1::VERDICT_ALLOWED);

#pragma once

#include <cstddef>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {

inline v1::CheckRequest WaitingCheck(const std::string& identity, double cost,
                                     absl::Duration max_wait = absl::Minutes(10)) {
  v1::CheckRequest request = CheckOf(identity, cost);
  request.mutable_max_wait()->set_seconds(absl::ToInt64Seconds(max_wait));
  return request;
}

inline bool Waiting(InProcessServer& server, size_t count) {
  return WaitUntil([&] { return server.line_stats().waiting == count; });
}

// One call, of a thread of its own.
template <typename Request, typename Response>
class ThreadedCall {
 public:
  ThreadedCall(const Peer& peer, RpcMethod<v1::ThrottlerService::Stub, Request, Response> method,
               const Request& request, absl::Duration deadline = absl::Seconds(60)) {
    peer.Fill(context);
    context.set_deadline(gpr_time_from_millis(absl::ToInt64Milliseconds(deadline), GPR_TIMESPAN));
    thread_ = std::thread([this, channel = peer.channel, method, request] {
      status_ = (v1::ThrottlerService::Stub(channel).*method)(&context, request, &response_);
    });
  }
  ~ThreadedCall() { Join(); }
  ThreadedCall(const ThreadedCall&) = delete;
  ThreadedCall& operator=(const ThreadedCall&) = delete;

  // Waits for the end.
  const grpc::Status& Status() {
    Join();
    return status_;
  }
  const Response& Answer() {
    EXPECT_TRUE(Status().ok()) << status_.error_message();
    return response_;
  }

  Context context;

 private:
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

  Response response_;
  grpc::Status status_;
  std::thread thread_;
};

struct WaitingCaller : ThreadedCall<v1::CheckRequest, v1::CheckResponse> {
  WaitingCaller(const Peer& peer, const v1::CheckRequest& request,
                absl::Duration deadline = absl::Seconds(60))
      : ThreadedCall(peer, &v1::ThrottlerService::Stub::Check, request, deadline) {}
  v1::Decision Decision() { return Answer().decision(); }
};

struct WaitingBatchCaller : ThreadedCall<v1::BatchCheckRequest, v1::BatchCheckResponse> {
  WaitingBatchCaller(const Peer& peer, const v1::BatchCheckRequest& request)
      : ThreadedCall(peer, &v1::ThrottlerService::Stub::BatchCheck, request) {}
};

}  // namespace headgate::rpc
