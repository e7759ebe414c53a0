// Unary calls that are answered later: by whom, whether it reached anybody, and what is left.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "server/serve/transport/grpc_server.h"
#include "server/serve/transport/unary_route.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/wait_until.h"

namespace headgate::transport {
namespace {

using grpc::StatusCode;

struct Ends {
  std::atomic<int> gone = 0, delivered = 0, undelivered = 0, listeners = 0;
};

class EndsListener final : public ParkListener {
 public:
  explicit EndsListener(Ends& ends) : ends_(ends) { ++ends_.listeners; }
  ~EndsListener() override { --ends_.listeners; }
  void OnGone() override { ++ends_.gone; }
  void OnAnswered(bool delivered) override { ++(delivered ? ends_.delivered : ends_.undelivered); }

 private:
  Ends& ends_;
};

using Parked = std::shared_ptr<ParkedCall<v1::CheckResponse>>;

// Parks what is not "now".
class ParkingService final : public AsyncService {
 public:
  explicit ParkingService(Calls& calls)
      : calls_(calls), method_(AddAsync("/headgate.v1.ThrottlerService/Check", Kind::NORMAL_RPC)) {}

  void Open(ServingLoop& loop) override {
    loop.Own(std::make_unique<UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
        *this,
        UnaryRouteOptions{
            .method = method_, .loop = loop, .waiting_calls = 4, .calls = &calls_, .name = "Check"},
        [this](size_t, auto&, const v1::CheckRequest& request, v1::CheckResponse& response,
               Parking<v1::CheckResponse>& parking) {
          response.mutable_decision()->set_message(request.identity());
          if (request.identity() == "now") return grpc::Status();
          Parked parked = parking.Park(std::make_shared<EndsListener>(ends));
          const MutexLock lock(&mutex_);
          parked_.push_back(std::move(parked));
          return grpc::Status();
        }));
  }

  size_t count() {
    const MutexLock lock(&mutex_);
    return parked_.size();
  }
  std::vector<Parked> TakeAll() {
    const MutexLock lock(&mutex_);
    return std::exchange(parked_, {});
  }

  Ends ends;

 private:
  Calls& calls_;
  const int method_;
  Mutex mutex_;
  std::vector<Parked> parked_ ABSL_GUARDED_BY(mutex_);
};

bool AnswerOne(const Parked& parked, const std::string& message = "later") {
  v1::CheckResponse response;
  response.mutable_decision()->set_message(message);
  return parked->Answer(grpc::Status(), response);
}

// A Check that a thread of its own makes.
struct WaitingCaller {
  explicit WaitingCaller(const std::shared_ptr<grpc::Channel>& channel, int deadline_ms = 0) {
    if (deadline_ms > 0) context.set_deadline(gpr_time_from_millis(deadline_ms, GPR_TIMESPAN));
    thread = std::thread([this, channel] {
      v1::CheckRequest request;
      request.set_identity("wait");
      status = v1::ThrottlerService::Stub(channel).Check(&context, request, &response);
    });
  }
  ~WaitingCaller() { Join(); }
  void Join() {
    if (thread.joinable()) thread.join();
  }

  Context context;
  v1::CheckResponse response;
  grpc::Status status;
  std::thread thread;
};

class ParkedUnaryTest : public ::testing::Test {
 protected:
  ParkedUnaryTest() {
    const absl::Status started = server_.Start();
    EXPECT_TRUE(started.ok()) << started;
    channel_ = OwnChannel(server_.port());
  }
  bool Waiting(size_t count) {
    return WaitUntil([&] { return service_.count() == count; });
  }
  std::string CheckNow() {
    v1::CheckRequest request;
    request.set_identity("now");
    v1::CheckResponse response;
    return CallRpc(channel_, &v1::ThrottlerService::Stub::Check, request, response).ok()
               ? response.decision().message()
               : "refused";
  }
  uint64_t Counted(StatusCode code) { return calls_.ReadMethods()["Check"].codes[code]; }

  FakeClock clock_;
  CallListener listener_;
  Calls calls_{clock_, 7, listener_};
  ParkingService service_{calls_};
  GrpcServer server_{{.ports = {.address = "127.0.0.1:0"}, .async_services = {&service_}}};
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ParkedUnaryTest, AnotherThreadsAnswerIsDeliveredAndCountedThen) {
  WaitingCaller caller(channel_);
  ASSERT_TRUE(Waiting(1));
  EXPECT_EQ(Counted(StatusCode::OK), 0);
  const std::vector<Parked> parked = service_.TakeAll();
  EXPECT_TRUE(AnswerOne(parked[0]));
  EXPECT_FALSE(AnswerOne(parked[0], "twice"));
  caller.Join();
  EXPECT_EQ(caller.response.decision().message(), "later");
  EXPECT_EQ(Counted(StatusCode::OK), 1);
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.delivered == 1; }));
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.listeners == 0; }));
  EXPECT_EQ(service_.ends.gone, 0);
}

TEST_F(ParkedUnaryTest, BesideManyParkedCallsOthersAreAnsweredAtOnce) {
  std::list<WaitingCaller> callers;
  for (int i = 0; i < 40; ++i) callers.emplace_back(channel_);
  ASSERT_TRUE(Waiting(40));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(CheckNow(), "now");
  for (const Parked& parked : service_.TakeAll()) EXPECT_TRUE(AnswerOne(parked));
  for (WaitingCaller& caller : callers) caller.Join();
  EXPECT_EQ(Counted(StatusCode::OK), 60);
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.delivered == 40; }));
}

TEST_F(ParkedUnaryTest, ACallerThatCancelsIsGoneAndIsNotAnswered) {
  WaitingCaller caller(channel_);
  ASSERT_TRUE(Waiting(1));
  caller.context.TryCancel();
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.gone == 1; }));
  EXPECT_FALSE(AnswerOne(service_.TakeAll()[0]));
  EXPECT_EQ(Counted(StatusCode::CANCELLED), 1);
  EXPECT_EQ(service_.ends.delivered + service_.ends.undelivered, 0);
}

TEST_F(ParkedUnaryTest, ADeadlineIsKnownAndEndsTheWait) {
  WaitingCaller endless(channel_);
  ASSERT_TRUE(Waiting(1));
  const std::vector<Parked> longest = service_.TakeAll();
  EXPECT_GT(longest[0]->time_left_ns(), 30'000'000'000);
  EXPECT_LT(longest[0]->time_left_ns(), 61'000'000'000);
  WaitingCaller caller(channel_, 3000);  // which leaves a busy machine time to get there
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.gone == 1; }));
  caller.Join();
  EXPECT_EQ(caller.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(AnswerOne(longest[0]));
}

TEST_F(ParkedUnaryTest, AThousandKilledCallersLeaveNothingBehind) {
  for (int round = 0; round < 10; ++round) {
    auto channel = OwnChannel(server_.port());
    std::list<WaitingCaller> callers;
    for (int i = 0; i < 100; ++i) callers.emplace_back(channel);
    ASSERT_TRUE(Waiting(100));
    // Half of them are answered while they leave.
    std::thread answers([this] {
      int place = 0;
      for (const Parked& parked : service_.TakeAll()) {
        if (++place % 2 == 0) static_cast<void>(AnswerOne(parked));
      }
    });
    for (WaitingCaller& caller : callers) caller.context.TryCancel();
    answers.join();
  }
  Ends& ends = service_.ends;
  EXPECT_TRUE(WaitUntil([&] { return ends.gone + ends.delivered + ends.undelivered == 1000; }));
  EXPECT_TRUE(WaitUntil([&] { return ends.listeners == 0; }));
  EXPECT_GE(ends.gone, 500);
  EXPECT_EQ(CheckNow(), "now");
}

TEST_F(ParkedUnaryTest, AnsweredBeforeTheEndTheyAreDelivered) {
  WaitingCaller caller(channel_);
  ASSERT_TRUE(Waiting(1));
  std::thread end([this] { server_.Shutdown(absl::Seconds(30)); });
  EXPECT_TRUE(AnswerOne(service_.TakeAll()[0]));
  end.join();
  caller.Join();
  EXPECT_TRUE(caller.status.ok()) << caller.status.error_message();
  EXPECT_EQ(service_.ends.delivered, 1);
}

TEST_F(ParkedUnaryTest, WhatNobodyAnswersIsGoneWithTheServerAndMayBeAnsweredInVainForEver) {
  std::list<WaitingCaller> callers;
  for (int i = 0; i < 10; ++i) callers.emplace_back(channel_);
  ASSERT_TRUE(Waiting(10));
  server_.Shutdown(absl::Milliseconds(10));
  EXPECT_EQ(service_.ends.gone, 10);
  EXPECT_EQ(service_.ends.listeners, 0);
  for (const Parked& parked : service_.TakeAll()) EXPECT_FALSE(AnswerOne(parked));
}

}  // namespace
}  // namespace headgate::transport
