// CheckStream: order, ends of every kind, and what is left of a stream afterwards.

#include <list>
#include <thread>

#include "tests/rpc/rpc_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;

using Stream = grpc::ClientReaderWriter<v1::CheckStreamRequest, v1::CheckStreamResponse>;

v1::CheckStreamRequest MessageOf(int count, double cost) {
  v1::CheckStreamRequest request;
  for (int i = 0; i < count; ++i) *request.add_checks() = CheckOf("job:etl", cost);
  return request;
}

// A stream that the server has certainly taken up.
struct OpenStream {
  explicit OpenStream(v1::ThrottlerService::Stub& stub) : stream(stub.CheckStream(&context)) {}

  bool Exchange(int count = 1) {
    v1::CheckStreamResponse response;
    return stream->Write(MessageOf(count, 0)) && stream->Read(&response) &&
           response.results_size() == count;
  }
  grpc::Status Close() {
    stream->WritesDone();
    return stream->Finish();
  }

  Context context;
  std::unique_ptr<Stream> stream;
};

TEST(CheckStream, AnswersEachMessageInOrder) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(*server.throttler);
  for (int count = 1; count <= 200; ++count) ASSERT_TRUE(open.stream->Write(MessageOf(count, 0)));
  open.stream->WritesDone();
  v1::CheckStreamResponse response;
  for (int count = 1; count <= 200; ++count) {
    ASSERT_TRUE(open.stream->Read(&response));
    EXPECT_EQ(response.results_size(), count);
  }
  EXPECT_FALSE(open.stream->Read(&response));
  EXPECT_TRUE(open.stream->Finish().ok());
}

TEST(CheckStream, ChargesWhatItAllows) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(*server.throttler);
  v1::CheckStreamResponse response;
  ASSERT_TRUE(open.stream->Write(MessageOf(3, 40)));
  ASSERT_TRUE(open.stream->Read(&response));
  EXPECT_EQ(response.results(1).decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.results(2).decision().verdict(), v1::VERDICT_DENIED);
  server.Denied("job:etl", 40);
  EXPECT_TRUE(open.Close().ok());
}

TEST(CheckStream, AHalfCloseWithoutAnyMessageEndsItWell) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(*server.throttler);
  EXPECT_TRUE(open.Close().ok());
}

TEST(CheckStream, AnOversizedBatchEndsItAndNamesTheField) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(*server.throttler);
  ASSERT_TRUE(open.stream->Write(MessageOf(1001, 0)));
  v1::CheckStreamResponse response;
  EXPECT_FALSE(open.stream->Read(&response));
  const grpc::Status status = open.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"checks"});
}

TEST(CheckStream, TextThatIsNotUtf8EndsItAndNamesTheField) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(*server.throttler);
  v1::CheckStreamRequest request;
  request.add_checks()->set_identity("\xff");
  ASSERT_TRUE(open.stream->Write(request));
  v1::CheckStreamResponse response;
  EXPECT_FALSE(open.stream->Read(&response));
  const grpc::Status status = open.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"checks[0].identity"});
}

TEST(CheckStream, AnOversizedMessageEndsIt) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(*server.throttler);
  v1::CheckStreamRequest request = MessageOf(1, 0);
  request.mutable_checks(0)->set_pattern(std::string((4 << 20) + 1, 'p'));
  open.stream->Write(request);
  v1::CheckStreamResponse response;
  EXPECT_FALSE(open.stream->Read(&response));
  EXPECT_EQ(open.stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(WaitUntil([&] { return server.server->streams_open() == 0; }));
}

TEST(CheckStream, OverTheLimitItIsRefusedUntilAnotherOneEnds) {
  RpcServerOptions options = TestServer::Options();
  options.streams.all = 2;
  TestServer server(OneBudget(RateBudget("b", 10, 100)), options);
  OpenStream first(*server.throttler);
  OpenStream second(*server.throttler);
  ASSERT_TRUE(first.Exchange());
  ASSERT_TRUE(second.Exchange());
  {
    OpenStream third(*server.throttler);
    v1::CheckStreamResponse response;
    EXPECT_FALSE(third.stream->Read(&response));
    const grpc::Status status = third.stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(DetailsOf(status).retry);
    EXPECT_EQ(DetailsOf(status).reason, "TOO_MANY_STREAMS");
  }
  EXPECT_TRUE(first.Close().ok());
  ASSERT_TRUE(WaitUntil([&] { return server.server->streams_open() == 1; }));
  OpenStream fourth(*server.throttler);
  EXPECT_TRUE(fourth.Exchange());
  EXPECT_TRUE(fourth.Close().ok());
  EXPECT_TRUE(second.Close().ok());
}

TEST(CheckStream, OfOneConnectionThereAreOneHundredAndTwentyEight) {
  constexpr int kMax = 128;
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  std::list<OpenStream> streams;
  for (int i = 0; i < kMax; ++i) {
    ASSERT_TRUE(streams.emplace_back(*server.throttler).Exchange());
  }
  // gRPC keeps it back until there is room.
  std::thread next([&] {
    OpenStream waiting(*server.throttler);
    EXPECT_TRUE(waiting.Exchange());
    EXPECT_TRUE(waiting.Close().ok());
  });
  EXPECT_FALSE(
      WaitUntil([&] { return server.server->streams_open() > kMax; }, absl::Milliseconds(200)));
  const auto other = v1::ThrottlerService::NewStub(server.Connect());
  OpenStream elsewhere(*other);
  EXPECT_TRUE(elsewhere.Exchange());
  EXPECT_TRUE(streams.front().Close().ok());
  next.join();
  for (OpenStream& open : streams) open.context.TryCancel();
}

TEST(CheckStream, TenThousandCancelledOnesLeaveNothingBehind) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  const int rounds = Scaled(100);
  for (int round = 0; round < rounds; ++round) {
    std::list<OpenStream> streams;
    for (int i = 0; i < 100; ++i) streams.emplace_back(*server.throttler);
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
  EXPECT_TRUE(WaitUntil([&] { return server.server->streams_open() == 0; }));
  OpenStream open(*server.throttler);
  EXPECT_TRUE(open.Exchange());
  EXPECT_TRUE(open.Close().ok());
}

TEST(CheckStream, AConnectionThatBreaksTakesItsStreamsAlong) {
  TestServer server(OneBudget(RateBudget("b", 10, 100)));
  {
    const auto channel = server.Connect();
    const auto stub = v1::ThrottlerService::NewStub(channel);
    std::list<OpenStream> streams;
    for (int i = 0; i < 10; ++i) {
      streams.emplace_back(*stub);
      ASSERT_TRUE(streams.back().Exchange());
    }
    EXPECT_EQ(server.server->streams_open(), 10);
    for (OpenStream& open : streams) open.context.TryCancel();
  }
  EXPECT_TRUE(WaitUntil([&] { return server.server->streams_open() == 0; }));
}

}  // namespace
}  // namespace headgate::rpc
