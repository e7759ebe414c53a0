// CheckStream: what its messages mean, and which of them end it. What is true of every stream is in
// tests/serve/transport/stream_route_test.cc.

#include <grpcpp/create_channel.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;

TEST(CheckStream, AnswersEachMessageInOrder) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(server.channel);
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
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(server.channel);
  v1::CheckStreamResponse response;
  ASSERT_TRUE(open.stream->Write(MessageOf(3, 40)));
  ASSERT_TRUE(open.stream->Read(&response));
  EXPECT_EQ(response.results(1).decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(response.results(2).decision().verdict(), v1::VERDICT_DENIED);
  server.Denied("job:etl", 40);
  EXPECT_TRUE(open.Close().ok());
}

TEST(CheckStream, AnOversizedBatchEndsItAndNamesTheField) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(server.channel);
  ASSERT_TRUE(open.stream->Write(MessageOf(1001, 0)));
  v1::CheckStreamResponse response;
  EXPECT_FALSE(open.stream->Read(&response));
  const grpc::Status status = open.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"checks"});
}

TEST(CheckStream, TextThatIsNotUtf8EndsItAndNamesTheField) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(server.channel);
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
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  OpenStream open(server.channel);
  v1::CheckStreamRequest request = MessageOf(1, 0);
  request.mutable_checks(0)->set_pattern(std::string((4 << 20) + 1, 'p'));
  open.stream->Write(request);
  v1::CheckStreamResponse response;
  EXPECT_FALSE(open.stream->Read(&response));
  EXPECT_EQ(open.stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(WaitUntil([&] { return server->streams_open() == 0; }));
}

TEST(CheckStream, OverTheLimitItIsRefusedUntilAnotherOneEnds) {
  RpcServerOptions options = InProcessServer::Rpc();
  options.streams.all = 2;
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)), {.rpc = options});
  OpenStream first(server.channel);
  OpenStream second(server.channel);
  ASSERT_TRUE(first.Exchange());
  ASSERT_TRUE(second.Exchange());
  {
    OpenStream third(server.channel);
    v1::CheckStreamResponse response;
    EXPECT_FALSE(third.stream->Read(&response));
    const grpc::Status status = third.stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(DetailsOf(status).retry);
    EXPECT_EQ(DetailsOf(status).reason, "TOO_MANY_STREAMS");
  }
  EXPECT_TRUE(first.Close().ok());
  ASSERT_TRUE(WaitUntil([&] { return server->streams_open() == 1; }));
  OpenStream fourth(server.channel);
  EXPECT_TRUE(fourth.Exchange());
  EXPECT_TRUE(fourth.Close().ok());
  EXPECT_TRUE(second.Close().ok());
}

TEST(CheckStream, WhoeverHasNoNameSharesWithItsAddressAlone) {
  RpcServerOptions options = InProcessServer::Rpc();
  options.address = "[::]:0";
  options.streams.of_one_caller = 1;
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)), {.rpc = options});
  const auto connect = [&](const char* host) {
    return grpc::CreateChannel(absl::StrCat(host, ":", server.port()),
                               grpc::InsecureChannelCredentials());
  };
  OpenStream first(connect("127.0.0.1"));
  ASSERT_TRUE(first.Exchange());
  OpenStream second(connect("127.0.0.1"));
  EXPECT_FALSE(second.Exchange());
  EXPECT_EQ(second.Close().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  OpenStream other(connect("[::1]"));
  EXPECT_TRUE(other.Exchange());
  EXPECT_TRUE(first.Close().ok());
  EXPECT_TRUE(other.Close().ok());
}

}  // namespace
}  // namespace headgate::rpc
