// A stream both ways, whatever its messages mean: order, ends of every kind, and what is left of it
// afterwards.

#include "server/serve/transport/stream_route.h"

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "server/serve/transport/grpc_server.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate::transport {
namespace {

using grpc::StatusCode;

// Answers with as many results as a message has Checks, which nobody decides. Callers are known by
// what they say in the metadata `authorization`.
class CountingService final : public AsyncService {
 public:
  CountingService(Calls& calls, StreamLimits limits)
      : calls_(calls),
        count_(limits, calls.streams_open()),
        method_(AddAsync("/headgate.v1.ThrottlerService/CheckStream", Kind::BIDI_STREAMING)) {}

  void Open(ServingLoop& loop) override {
    loop.Own(std::make_unique<StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
        *this,
        StreamRouteOptions{
            .method = method_,
            .loop = loop,
            .count = count_,
            .admission = Admit,
            .calls = calls_,
            .name = "CheckStream",
            // relaxed: a number that orders nothing
            .on_end =
                [this](grpc::ServerContext&) { ended_.fetch_add(1, std::memory_order_relaxed); }},
        [](size_t, grpc::ServerContext&, const v1::CheckStreamRequest& request,
           v1::CheckStreamResponse& response) {
          if (request.checks_size() == 13) return FieldError("checks", "not thirteen");
          response.clear_results();
          for (int i = 0; i < request.checks_size(); ++i) response.add_results();
          return grpc::Status();
        }));
  }

  int open() const { return count_.open(); }
  int ended() const { return ended_.load(std::memory_order_relaxed); }

 private:
  static grpc::Status Admit(size_t, grpc::ServerContext& context, std::string& caller) {
    const auto said = context.client_metadata().find("authorization");
    if (said == context.client_metadata().end()) return grpc::Status();
    caller.assign(said->second.data(), said->second.size());
    if (caller == "nobody") return grpc::Status(StatusCode::UNAUTHENTICATED, "not you");
    return grpc::Status();
  }

  Calls& calls_;
  StreamCount count_;
  const int method_;
  std::atomic<int> ended_ = 0;
};

class StreamRouteTest : public ::testing::Test {
 protected:
  explicit StreamRouteTest(StreamLimits limits = {}) : service_(calls_, limits) {
    const absl::Status started = server_.Start();
    EXPECT_TRUE(started.ok()) << started;
    channel_ = Connect();
  }

  std::shared_ptr<grpc::Channel> Connect() const { return OwnChannel(server_.port()); }
  // How a stream ends that is answered nothing more.
  static grpc::Status EndOf(OpenStream& open) {
    v1::CheckStreamResponse response;
    EXPECT_FALSE(open.stream->Read(&response));
    return open.stream->Finish();
  }
  uint64_t Ended(StatusCode code) { return calls_.ReadMethods()["CheckStream"].codes[code]; }

  FakeClock clock_;
  CallListener listener_;
  Calls calls_{clock_, 7, listener_};
  CountingService service_;
  GrpcServer server_{{.ports = {.address = "127.0.0.1:0"}, .async_services = {&service_}}};
  std::shared_ptr<grpc::Channel> channel_;
};

class CrowdedStreamRouteTest : public StreamRouteTest {
 protected:
  CrowdedStreamRouteTest() : StreamRouteTest({.all = 3, .of_one_caller = 1}) {}
};

TEST_F(StreamRouteTest, AHalfCloseWithoutAnyMessageEndsItWell) {
  OpenStream open(channel_);
  EXPECT_TRUE(open.Close().ok());
  EXPECT_EQ(Ended(StatusCode::OK), 1);
}

TEST_F(StreamRouteTest, TheEndOfEachThatWasAdmittedIsToldOnce) {
  {
    OpenStream closed(channel_), wrong(channel_), cancelled(channel_);
    ASSERT_TRUE(closed.Exchange(3) && wrong.Exchange(3) && cancelled.Exchange(3));
    EXPECT_EQ(service_.ended(), 0);
    EXPECT_TRUE(closed.Close().ok());
    EXPECT_TRUE(WaitUntil([&] { return service_.ended() == 1; }));
    ASSERT_TRUE(wrong.stream->Write(MessageOf(13, 0)));
    EXPECT_EQ(EndOf(wrong).error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(WaitUntil([&] { return service_.ended() == 2; }));
    cancelled.context.TryCancel();
    EXPECT_TRUE(WaitUntil([&] { return service_.ended() == 3; }));
  }
  OpenStream refused(Peer(channel_, "nobody"));
  EXPECT_EQ(EndOf(refused).error_code(), StatusCode::UNAUTHENTICATED);
  OpenStream left(channel_);
  ASSERT_TRUE(left.Exchange(3));
  server_.Shutdown(absl::ZeroDuration());
  EXPECT_EQ(service_.ended(), 4);
}

TEST_F(StreamRouteTest, AnswersWhatCameBeforeTheHalfCloseInOrder) {
  OpenStream open(channel_);
  for (int count = 1; count <= 12; ++count) ASSERT_TRUE(open.stream->Write(MessageOf(count, 0)));
  open.stream->WritesDone();
  v1::CheckStreamResponse response;
  for (int count = 1; count <= 12; ++count) {
    ASSERT_TRUE(open.stream->Read(&response));
    EXPECT_EQ(response.results_size(), count);
  }
  EXPECT_TRUE(EndOf(open).ok());
}

TEST_F(StreamRouteTest, AnErrorOfTheHandlerEndsItWithWhatItSays) {
  OpenStream open(channel_);
  ASSERT_TRUE(open.Exchange(3));
  ASSERT_TRUE(open.stream->Write(MessageOf(13, 0)));
  const grpc::Status status = EndOf(open);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"checks"});
  EXPECT_EQ(Ended(StatusCode::INVALID_ARGUMENT), 1);
  EXPECT_TRUE(WaitUntil([&] { return service_.open() == 0; }));
}

TEST_F(StreamRouteTest, BytesThatAreNoMessageEndItAndNameTheField) {
  OpenStream open(channel_);
  v1::CheckStreamRequest request;
  request.add_checks()->set_identity("\xff");
  ASSERT_TRUE(open.stream->Write(request));
  const grpc::Status status = EndOf(open);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"checks[0].identity"});
}

TEST_F(StreamRouteTest, TimesMessagesAndCountsEnds) {
  OpenStream open(channel_);
  for (int i = 0; i < 65; ++i) ASSERT_TRUE(open.Exchange());
  EXPECT_EQ(Ended(StatusCode::OK), 0);
  EXPECT_TRUE(open.Close().ok());
  const Calls::MethodTotals totals = calls_.ReadMethods()["CheckStream"];
  EXPECT_EQ(totals.codes[StatusCode::OK], 1);
  uint64_t timed = 0;
  for (const uint64_t bucket : totals.latency.buckets) timed += bucket;
  EXPECT_EQ(timed, 2);  // the first one and the 65th
}

TEST_F(StreamRouteTest, WhoeverMayNotHaveOneIsNotCounted) {
  OpenStream open(Peer(channel_, "nobody"));
  EXPECT_EQ(EndOf(open).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(service_.open(), 0);
}

TEST_F(CrowdedStreamRouteTest, OverTheLimitOfOneCallerItIsRefusedByTheNameOfTheMethod) {
  OpenStream first(Peer(channel_, "etl"));
  ASSERT_TRUE(first.Exchange());
  OpenStream second(Peer(channel_, "etl"));
  const grpc::Status refused = EndOf(second);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "no room for another CheckStream of caller etl, which has as many as one may");
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(WaitUntil([&] { return OpenStream(Peer(channel_, "etl")).Exchange(); }));
}

TEST_F(CrowdedStreamRouteTest, OverTheLimitOfAllItIsRefusedUntilAnotherOneEnds) {
  std::list<OpenStream> streams;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(streams.emplace_back(channel_).Exchange());
  OpenStream fourth(channel_);
  const grpc::Status refused = EndOf(fourth);
  EXPECT_EQ(refused.error_message(), "no room for another CheckStream");
  EXPECT_EQ(DetailsOf(refused).reason, "TOO_MANY_STREAMS");
  EXPECT_TRUE(DetailsOf(refused).retry);
  EXPECT_TRUE(streams.front().Close().ok());
  ASSERT_TRUE(WaitUntil([&] { return service_.open() == 2; }));
  OpenStream fifth(channel_);
  EXPECT_TRUE(fifth.Exchange());
  EXPECT_EQ(calls_.ReadStreamsOpen(), 3);
  EXPECT_TRUE(fifth.Close().ok());
}

TEST_F(StreamRouteTest, ShutdownEndsThoseThatWaitForTheirCallers) {
  OpenStream open(channel_);
  ASSERT_TRUE(open.Exchange());
  server_.Shutdown(absl::Seconds(30));
  EXPECT_EQ(EndOf(open).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(service_.open(), 0);
  EXPECT_EQ(Ended(StatusCode::UNAVAILABLE), 1);
}

TEST_F(StreamRouteTest, OfOneConnectionThereAreOneHundredAndTwentyEight) {
  constexpr int kMax = 128;
  std::list<OpenStream> streams;
  for (int i = 0; i < kMax; ++i) {
    ASSERT_TRUE(streams.emplace_back(channel_).Exchange());
  }
  // gRPC keeps it back until there is room.
  std::thread next([&] {
    OpenStream waiting(channel_);
    EXPECT_TRUE(waiting.Exchange());
    EXPECT_TRUE(waiting.Close().ok());
  });
  EXPECT_FALSE(WaitUntil([&] { return service_.open() > kMax; }, absl::Milliseconds(200)));
  OpenStream elsewhere(Connect());
  EXPECT_TRUE(elsewhere.Exchange());
  EXPECT_TRUE(streams.front().Close().ok());
  next.join();
  for (OpenStream& open : streams) open.context.TryCancel();
}

TEST_F(StreamRouteTest, TenThousandCancelledOnesLeaveNothingBehind) {
  const int rounds = Scaled(100);
  for (int round = 0; round < rounds; ++round) {
    std::list<OpenStream> streams;
    for (int i = 0; i < 100; ++i) streams.emplace_back(channel_);
    int number = 0;
    for (OpenStream& open : streams) {
      // In every state that a stream can be in.
      if (++number % 3 == 0) {
        EXPECT_TRUE(open.Exchange(3));
      } else if (number % 3 == 1) {
        open.stream->Write(MessageOf(100, 0));
      }
      open.context.TryCancel();
    }
    for (OpenStream& open : streams) open.stream->Finish();
  }
  EXPECT_TRUE(WaitUntil([&] { return service_.open() == 0; }));
  OpenStream open(channel_);
  EXPECT_TRUE(open.Exchange());
  EXPECT_TRUE(open.Close().ok());
}

TEST_F(StreamRouteTest, AConnectionThatBreaksTakesItsStreamsAlong) {
  {
    const auto channel = Connect();
    std::list<OpenStream> streams;
    for (int i = 0; i < 10; ++i) {
      streams.emplace_back(channel);
      ASSERT_TRUE(streams.back().Exchange());
    }
    EXPECT_EQ(service_.open(), 10);
    for (OpenStream& open : streams) open.context.TryCancel();
  }
  EXPECT_TRUE(WaitUntil([&] { return service_.open() == 0; }));
}

}  // namespace
}  // namespace headgate::transport
