// Messages of a stream that are answered later: overtaking, bounds, and ends of every kind.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "server/serve/transport/grpc_server.h"
#include "server/serve/transport/stream_route.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/wait_until.h"

namespace headgate::transport {
namespace {

struct MessageEnds {
  std::atomic<int> gone = 0, delivered = 0, undelivered = 0;
};

class MessageListener final : public ParkListener {
 public:
  explicit MessageListener(MessageEnds& ends) : ends_(ends) {}
  void OnGone() override { ++ends_.gone; }
  void OnAnswered(bool delivered) override { ++(delivered ? ends_.delivered : ends_.undelivered); }

 private:
  MessageEnds& ends_;
};

using ParkedMessage = std::shared_ptr<ParkedCall<v1::CheckStreamResponse>>;

// Parks messages that have Checks, and answers the others at once.
class ParkingStreamService final : public AsyncService {
 public:
  explicit ParkingStreamService(Calls& calls)
      : calls_(calls),
        count_({}, calls.streams_open()),
        method_(AddAsync("/headgate.v1.ThrottlerService/CheckStream", Kind::BIDI_STREAMING)) {}

  void Open(ServingLoop& loop) override {
    loop.Own(std::make_unique<StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
        *this,
        StreamRouteOptions{.method = method_,
                           .loop = loop,
                           .count = count_,
                           .admission = [](size_t, auto&, auto&) { return grpc::Status(); },
                           .calls = calls_,
                           .name = "CheckStream"},
        [this](size_t, auto&, const v1::CheckStreamRequest& request, auto& /*response*/,
               Parking<v1::CheckStreamResponse>& parking) {
          if (request.checks_size() == 0) return grpc::Status();
          ParkedMessage parked = parking.Park(std::make_shared<MessageListener>(ends));
          const MutexLock lock(&mutex_);
          parked_.push_back(std::move(parked));
          return grpc::Status();
        }));
  }

  int open() const { return count_.open(); }
  size_t count() {
    const MutexLock lock(&mutex_);
    return parked_.size();
  }
  std::vector<ParkedMessage> TakeAll() {
    const MutexLock lock(&mutex_);
    return std::exchange(parked_, {});
  }

  MessageEnds ends;

 private:
  Calls& calls_;
  StreamCount count_;
  const int method_;
  Mutex mutex_;
  std::vector<ParkedMessage> parked_ ABSL_GUARDED_BY(mutex_);
};

class ParkedStreamTest : public ::testing::Test {
 protected:
  ParkedStreamTest() {
    const absl::Status started = server_.Start();
    EXPECT_TRUE(started.ok()) << started;
    channel_ = OwnChannel(server_.port());
  }
  static bool Send(OpenStream& open, uint64_t number, int checks) {
    v1::CheckStreamRequest request = MessageOf(checks, 0);
    request.set_number(number);
    return open.stream->Write(request);
  }
  static uint64_t NextNumber(OpenStream& open) {
    v1::CheckStreamResponse response;
    return open.stream->Read(&response) ? response.number() : 0;
  }
  static bool Reply(const ParkedMessage& parked, const grpc::Status& status = grpc::Status()) {
    v1::CheckStreamResponse response;
    response.add_results();
    return parked->Answer(status, response);
  }
  bool Waiting(size_t count) {
    return WaitUntil([&] { return service_.count() == count; });
  }

  FakeClock clock_;
  CallListener listener_;
  Calls calls_{clock_, 7, listener_};
  ParkingStreamService service_{calls_};
  GrpcServer server_{{.ports = {.address = "127.0.0.1:0"}, .async_services = {&service_}}};
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ParkedStreamTest, AnswersThatOvertakeEachOtherBearTheirNumbers) {
  OpenStream open(channel_);
  for (uint64_t number = 11; number <= 13; ++number) ASSERT_TRUE(Send(open, number, 1));
  ASSERT_TRUE(Send(open, 14, 0));
  EXPECT_EQ(NextNumber(open), 14);
  const std::vector<ParkedMessage> parked = service_.TakeAll();
  ASSERT_EQ(parked.size(), 3);
  for (const size_t place : {2, 0, 1}) {
    EXPECT_TRUE(Reply(parked[place]));
    EXPECT_FALSE(Reply(parked[place]));
    EXPECT_EQ(NextNumber(open), 11 + place);
  }
  EXPECT_TRUE(open.Close().ok());
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.delivered == 3; }));
}

TEST_F(ParkedStreamTest, AHalfCloseWaitsForWhatIsParked) {
  OpenStream open(channel_);
  ASSERT_TRUE(Send(open, 7, 1));
  open.stream->WritesDone();
  ASSERT_TRUE(Waiting(1));
  EXPECT_EQ(service_.open(), 1);
  EXPECT_TRUE(Reply(service_.TakeAll()[0]));
  EXPECT_EQ(NextNumber(open), 7);
  EXPECT_TRUE(open.stream->Finish().ok());
  EXPECT_TRUE(WaitUntil([&] { return service_.open() == 0; }));
}

TEST_F(ParkedStreamTest, WhoeverCancelsIsGoneForEveryMessage) {
  OpenStream open(channel_);
  for (uint64_t number = 1; number <= 50; ++number) ASSERT_TRUE(Send(open, number, 1));
  ASSERT_TRUE(Waiting(50));
  open.context.TryCancel();
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.gone == 50; }));
  EXPECT_TRUE(WaitUntil([&] { return service_.open() == 0; }));
  for (const ParkedMessage& parked : service_.TakeAll()) EXPECT_FALSE(Reply(parked));
}

TEST_F(ParkedStreamTest, AnErrorEndsTheStreamAndTheOthersAreGone) {
  OpenStream open(channel_);
  for (uint64_t number = 1; number <= 3; ++number) ASSERT_TRUE(Send(open, number, 1));
  ASSERT_TRUE(Waiting(3));
  const std::vector<ParkedMessage> parked = service_.TakeAll();
  EXPECT_TRUE(Reply(parked[0]));
  EXPECT_TRUE(Reply(parked[1], {grpc::StatusCode::UNAVAILABLE, "elsewhere"}));
  EXPECT_FALSE(Reply(parked[2]));
  EXPECT_EQ(NextNumber(open), 1);
  EXPECT_EQ(NextNumber(open), 0);
  EXPECT_EQ(open.stream->Finish().error_message(), "elsewhere");
  EXPECT_TRUE(WaitUntil([&] { return service_.ends.gone == 1; }));
}

TEST_F(ParkedStreamTest, NoMoreThanAThousandAndTwentyFourAreParked) {
  OpenStream open(channel_);
  std::thread writer([&] {
    for (uint64_t number = 1; number <= 1100; ++number) EXPECT_TRUE(Send(open, number, 1));
  });
  ASSERT_TRUE(Waiting(1024));
  EXPECT_FALSE(WaitUntil([&] { return service_.count() > 1024; }, absl::Milliseconds(200)));
  for (const ParkedMessage& parked : service_.TakeAll()) EXPECT_TRUE(Reply(parked));
  for (uint64_t number = 1; number <= 1024; ++number) EXPECT_EQ(NextNumber(open), number);
  ASSERT_TRUE(Waiting(76));
  writer.join();
  open.context.TryCancel();
}

TEST_F(ParkedStreamTest, WhatNobodyAnswersIsGoneWithTheServer) {
  OpenStream open(channel_);
  for (uint64_t number = 1; number <= 5; ++number) ASSERT_TRUE(Send(open, number, 1));
  ASSERT_TRUE(Waiting(5));
  server_.Shutdown(absl::Seconds(30));
  EXPECT_EQ(service_.ends.gone, 5);
  EXPECT_EQ(service_.open(), 0);
  for (const ParkedMessage& parked : service_.TakeAll()) EXPECT_FALSE(Reply(parked));
}

}  // namespace
}  // namespace headgate::transport
