// A loop's two threads: a call that takes long holds up neither others nor the end.

#include "server/serve/transport/serving_loop.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "server/serve/transport/grpc_server.h"
#include "server/serve/transport/stream_route.h"
#include "server/serve/transport/unary_route.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/wait_until.h"

namespace headgate::transport {
namespace {

// What is "slow" is decided only once OpenGate is called.
class GatedService final : public AsyncService {
 public:
  explicit GatedService(Calls& calls)
      : calls_(calls),
        count_({}, calls.streams_open()),
        check_(AddAsync("/headgate.v1.ThrottlerService/Check", Kind::NORMAL_RPC)),
        stream_(AddAsync("/headgate.v1.ThrottlerService/CheckStream", Kind::BIDI_STREAMING)) {}

  void Open(ServingLoop& loop) override {
    loop.Own(std::make_unique<UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
        *this,
        UnaryRouteOptions{
            .method = check_, .loop = loop, .waiting_calls = 4, .calls = &calls_, .name = "Check"},
        [this](size_t thread, auto&, const v1::CheckRequest& request, v1::CheckResponse& response) {
          response.mutable_decision()->set_message(request.identity());
          return Decide(thread, request.identity());
        }));
    loop.Own(std::make_unique<StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
        *this,
        StreamRouteOptions{.method = stream_,
                           .loop = loop,
                           .count = count_,
                           .admission = [](size_t, auto&, auto&) { return grpc::Status(); },
                           .calls = calls_,
                           .name = "CheckStream"},
        [this](size_t thread, auto&, const v1::CheckStreamRequest& request, auto& response) {
          response.clear_results();
          response.add_results();
          return Decide(thread, request.checks(0).identity());
        }));
  }

  void OpenGate() {
    if (!std::exchange(is_open_, true)) opened_.set_value();
  }
  int being_decided() const { return being_decided_; }
  int decided_by(size_t thread) const { return decided_by_.at(thread); }

 private:
  grpc::Status Decide(size_t thread, const std::string& identity) {
    // One call at a time on each thread, which is what routes reuse their messages by.
    EXPECT_FALSE(busy_.at(thread).exchange(true));
    if (identity == "slow") {
      ++being_decided_;
      gate_.wait();
      --being_decided_;
    }
    ++decided_by_.at(thread);
    busy_.at(thread) = false;
    return grpc::Status();
  }

  Calls& calls_;
  StreamCount count_;
  const int check_, stream_;
  bool is_open_ = false;
  std::promise<void> opened_;
  const std::shared_future<void> gate_ = opened_.get_future().share();
  std::array<std::atomic<bool>, ServingLoop::kThreads> busy_ = {};
  std::array<std::atomic<int>, ServingLoop::kThreads> decided_by_ = {};
  std::atomic<int> being_decided_ = 0;
};

class ServingLoopTest : public ::testing::Test {
 protected:
  ServingLoopTest() {
    const absl::Status started = server_.Start();
    EXPECT_TRUE(started.ok()) << started;
    channel_ = Connect();
  }

  // The server ends only when all is decided.
  void TearDown() override { service_.OpenGate(); }

  std::shared_ptr<grpc::Channel> Connect() const { return OwnChannel(server_.port()); }

  // The answer, or the error.
  std::string Check(const std::string& identity) {
    v1::CheckRequest request;
    request.set_identity(identity);
    v1::CheckResponse response;
    const grpc::Status status =
        CallRpc(channel_, &v1::ThrottlerService::Stub::Check, request, response);
    return status.ok() ? response.decision().message() : status.error_message();
  }
  static v1::CheckStreamRequest MessageOf(const std::string& identity) {
    v1::CheckStreamRequest message;
    message.add_checks()->set_identity(identity);
    return message;
  }
  void AwaitBeingDecided(int count) {
    EXPECT_TRUE(WaitUntil([&] { return service_.being_decided() == count; }));
  }

  FakeClock clock_;
  CallListener listener_;
  Calls calls_{clock_, 7, listener_};
  GatedService service_{calls_};
  GrpcServer server_{
      {.ports = {.address = "127.0.0.1:0"}, .clock = &clock_, .async_services = {&service_}}};
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ServingLoopTest, BesideACallThatTakesLongOthersAreAnswered) {
  std::string slow;
  std::thread caller([&] { slow = Check("slow"); });
  AwaitBeingDecided(1);
  // More than are posted at first.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Check("fast"), "fast");
  service_.OpenGate();
  caller.join();
  EXPECT_EQ(slow, "slow");
  EXPECT_EQ(calls_.ReadMethods()["Check"].codes[grpc::StatusCode::OK], 21);
}

TEST_F(ServingLoopTest, BesideAMessageThatTakesLongOtherStreamsAreAnswered) {
  OpenStream slow(channel_), fast(channel_);
  v1::CheckStreamResponse response;
  ASSERT_TRUE(slow.stream->Write(MessageOf("slow")));
  AwaitBeingDecided(1);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(fast.stream->Write(MessageOf("fast")));
    ASSERT_TRUE(fast.stream->Read(&response));
  }
  EXPECT_TRUE(fast.Close().ok());
  service_.OpenGate();
  EXPECT_TRUE(slow.stream->Read(&response));
  EXPECT_TRUE(slow.Close().ok());
}

TEST_F(ServingLoopTest, WhatBothThreadsDecideIsAnsweredBeforeTheEnd) {
  std::vector<std::string> answers(2);
  std::vector<std::thread> threads;
  for (std::string& answer : answers) threads.emplace_back([&] { answer = Check("slow"); });
  AwaitBeingDecided(2);
  threads.emplace_back([&] { server_.Shutdown(absl::Seconds(30)); });
  // The end has begun once nobody can connect.
  EXPECT_TRUE(WaitUntil(
      [&] { return !Connect()->WaitForConnected(gpr_time_from_millis(100, GPR_TIMESPAN)); }));
  service_.OpenGate();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, std::vector<std::string>(2, "slow"));
}

TEST_F(ServingLoopTest, WithoutGraceTheEndWaitsForWhatIsDecidedAndNoLonger) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { Check("slow"); });
  AwaitBeingDecided(2);
  std::thread end([&] { server_.Shutdown(absl::ZeroDuration()); });
  service_.OpenGate();
  end.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(service_.being_decided(), 0);
}

TEST_F(ServingLoopTest, WhereCallsFollowEachOtherCloselyOneThreadServesThem) {
  const auto follow = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      clock_.Advance(absl::Microseconds(20));
      EXPECT_EQ(Check("fast"), "fast");
    }
  };
  // Both have their turns, until the second one rests after one of its own.
  int before = 0;
  for (int rounds = 0; rounds < 100; ++rounds) {
    before = service_.decided_by(1);
    follow(100);
    if (service_.decided_by(1) == before) break;
  }
  follow(100);
  EXPECT_EQ(service_.decided_by(1), before);
  // A pause, and it is there again.
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Check("fast"), "fast");
  std::thread caller([&] { EXPECT_EQ(Check("slow"), "slow"); });
  AwaitBeingDecided(1);
  EXPECT_EQ(Check("fast"), "fast");
  service_.OpenGate();
  caller.join();
  follow(500);  // and the end finds it resting
}

// Their answers, which nobody reads, are cancelled when there are too many.
TEST_F(ServingLoopTest, AFloodOfUnreadAnswersCancelsNothingThatIsBeingDecided) {
  constexpr int kCallers = 33;
  constexpr uint64_t kCalls = 100;
  std::string slow;
  std::thread caller([&] { slow = Check("slow"); });
  AwaitBeingDecided(1);
  v1::CheckRequest request;
  request.set_identity("fast");
  std::vector<tls::Raw> deaf;
  for (int i = 0; i < kCallers; ++i) {
    std::string bytes = tls::Preface(0);
    for (uint32_t call = 0; call < kCalls; ++call) {
      bytes += tls::Call(2 * call + 1, "/headgate.v1.ThrottlerService/Check",
                         request.SerializeAsString());
    }
    EXPECT_TRUE(deaf.emplace_back(server_.port()).Send(bytes));
  }
  const auto answered = [&] { return calls_.ReadMethods()["Check"].codes[grpc::StatusCode::OK]; };
  EXPECT_TRUE(WaitUntil([&] { return answered() == kCallers * kCalls; })) << answered();
  service_.OpenGate();
  caller.join();
  EXPECT_EQ(slow, "slow");
}

}  // namespace
}  // namespace headgate::transport
