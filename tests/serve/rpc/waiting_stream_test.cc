// CheckStreams whose messages wait, and callers that let as much wait as they can.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/own_channel.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;

v1::CheckStreamRequest Numbered(uint64_t number, const v1::CheckRequest& check) {
  v1::CheckStreamRequest message;
  message.set_number(number);
  *message.add_checks() = check;
  return message;
}

// 10 a second, and nothing of the 100 is left.
class WaitingStream : public ::testing::Test {
 protected:
  explicit WaitingStream(const InProcessOptions& options = {})
      : server_(OneBudget(RateBudget("b", 10, 100)), options) {
    server_.Allowed("job:etl", 100);
  }
  // The number and decision of the next answer, which is of one Check.
  std::pair<uint64_t, v1::Decision> Next(OpenStream& open) {
    v1::CheckStreamResponse response;
    EXPECT_TRUE(open.stream->Read(&response));
    EXPECT_EQ(response.results_size(), 1);
    return {response.number(),
            response.results_size() == 0 ? v1::Decision() : response.results(0).decision()};
  }

  // "web" has a budget of its own.
  void InstallWithWeb() {
    engine::PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
    spec.budgets.push_back(RateBudget("own", 1000, 1000));
    spec.rules.push_back(engine::ChargeRule("web", "web", {"own"}));
    ASSERT_TRUE(server_.engine.Install(std::move(spec), server_.clock.Read()).ok());
  }

  InProcessServer server_;
};

TEST_F(WaitingStream, AnswersOvertakeAndBearTheNumbersOfTheirMessages) {
  OpenStream open(server_.channel);
  ASSERT_TRUE(open.stream->Write(Numbered(7, WaitingCheck("job:etl", 50))));
  ASSERT_TRUE(open.stream->Write(Numbered(8, WaitingCheck("job:etl", 10, absl::Seconds(2)))));
  ASSERT_TRUE(open.stream->Write(Numbered(9, CheckOf("job:etl", 0))));
  EXPECT_EQ(Next(open).first, 9);
  ASSERT_TRUE(Waiting(server_, 2));
  server_.Advance(absl::Seconds(2));
  const auto [second, denied] = Next(open);
  EXPECT_EQ(second, 8);
  EXPECT_EQ(denied.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(denied.waited().seconds(), 2);
  server_.Advance(absl::Seconds(3));
  const auto [third, admitted] = Next(open);
  EXPECT_EQ(third, 7);
  EXPECT_EQ(admitted.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(admitted.waited().seconds(), 5);
  EXPECT_EQ(server_.Report(admitted.permit_id(), 50).outcome(), v1::REPORT_OUTCOME_SETTLED);
  EXPECT_TRUE(open.Close().ok());
}

TEST_F(WaitingStream, IsAnsweredWholeAfterItsCallerHasSaidAll) {
  OpenStream open(server_.channel);
  ASSERT_TRUE(open.stream->Write(Numbered(1, WaitingCheck("job:etl", 50))));
  open.stream->WritesDone();
  ASSERT_TRUE(Waiting(server_, 1));
  server_.Advance(absl::Seconds(5));
  EXPECT_EQ(Next(open).second.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_TRUE(open.stream->Finish().ok());
}

TEST_F(WaitingStream, NamesAMaxWaitThatIsNone) {
  OpenStream open(server_.channel);
  v1::CheckRequest wrong = CheckOf("job:etl", 1);
  wrong.mutable_max_wait()->set_seconds(-1);
  ASSERT_TRUE(open.stream->Write(Numbered(3, wrong)));
  v1::CheckStreamResponse response;
  ASSERT_TRUE(open.stream->Read(&response));
  EXPECT_EQ(response.number(), 3);
  EXPECT_EQ(response.results(0).error().field(), "checks[0].max_wait");
  EXPECT_TRUE(open.Close().ok());
}

TEST_F(WaitingStream, EndsTheWaitingOfItsMessagesWithTheRightAndGoesOn) {
  const auto anybody_may = [](const std::string& identity) {
    return access::PolicySpec{
        .callers = {{.name = "guest", .anybody = true, .identities = {identity}}}};
  };
  server_.access.SetPolicy(anybody_may("etl"));
  OpenStream open(server_.channel);
  ASSERT_TRUE(open.stream->Write(Numbered(1, WaitingCheck("job:etl", 50))));
  ASSERT_TRUE(Waiting(server_, 1));
  server_.access.SetPolicy(anybody_may("web"));
  v1::CheckStreamResponse response;
  ASSERT_TRUE(open.stream->Read(&response));
  EXPECT_EQ(response.results(0).error().code(), 7);
  EXPECT_EQ(response.number(), 1);
  ASSERT_TRUE(open.stream->Write(Numbered(2, CheckOf("job:web", 50))));
  EXPECT_EQ(Next(open).first, 2);
  EXPECT_TRUE(open.Close().ok());
}

// 40 messages of 250 Checks: their answers are larger than what a connection takes unread.
class UnreadStream : public WaitingStream {
 protected:
  static InProcessOptions Options() {
    InProcessOptions options;
    options.engine.max_permits = 65536;
    return options;
  }
  UnreadStream() : WaitingStream(Options()) {}
};

TEST_F(UnreadStream, OwesNothingForAnswersThatDidNotFitIntoItsConnection) {
  InstallWithWeb();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  OpenStream open(OwnChannel(server_.address(), grpc::InsecureChannelCredentials(), arguments));
  v1::CheckStreamRequest message;
  for (int i = 0; i < 250; ++i) *message.add_checks() = CheckOf("job:web", 0.001);
  *message.add_checks() = WaitingCheck("job:etl", 50, absl::Seconds(2));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(open.stream->Write(message));
  ASSERT_TRUE(WaitUntil([&] { return server_.line_stats().waiting == 40; }));
  ASSERT_TRUE(WaitUntil([&] { return server_.permits() >= 10000; }));
  // All are answered, and nobody reads.
  server_.Advance(absl::Seconds(2));
  ASSERT_TRUE(Waiting(server_, 0));
  open.context.TryCancel();
  EXPECT_FALSE(open.stream->Finish().ok());
  // About 64 kB and a write that was under way were handed to the connection.
  EXPECT_TRUE(WaitUntil([&] { return server_.permits() < 3000; })) << server_.permits();
}

// Somebody lets all wait that may: over unary calls, and over streams.
TEST_F(WaitingStream, ANeighbourThatLetsThousandsWaitIsNotNoticedByOthers) {
  InstallWithWeb();
  grpc::CompletionQueue queue;
  struct Call {
    Context context;
    v1::CheckResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CheckResponse>> reader;
  };
  std::vector<std::unique_ptr<v1::ThrottlerService::Stub>> stubs;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 1000; ++i) {
    // So many at once go over one connection.
    if (i % 100 == 0) stubs.push_back(v1::ThrottlerService::NewStub(server_.Connect()));
    Call& call = *calls.emplace_back(std::make_unique<Call>());
    call.reader = stubs.back()->AsyncCheck(&call.context, WaitingCheck("job:etl", 100), &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  EXPECT_TRUE(Waiting(server_, 1000));
  const std::shared_ptr<grpc::Channel> theirs = server_.Connect();
  std::vector<std::unique_ptr<OpenStream>> streams;
  for (int s = 0; s < 4; ++s) {
    OpenStream& open = *streams.emplace_back(std::make_unique<OpenStream>(theirs));
    for (uint64_t i = 0; i < 1000; ++i) {
      ASSERT_TRUE(open.stream->Write(Numbered(i, WaitingCheck("job:etl", 100))));
    }
  }
  EXPECT_TRUE(Waiting(server_, 5000));

  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(server_.Check("job:web", 1).verdict(), v1::VERDICT_ALLOWED);
  }
  WaitingCaller honest(server_.channel, WaitingCheck("other:web", 1000));
  EXPECT_TRUE(Waiting(server_, 5001));
  server_.Advance(absl::Milliseconds(100));
  EXPECT_EQ(honest.Decision().waited().nanos(), 100'000'000);

  for (const auto& call : calls) call->context.TryCancel();
  for (size_t i = 0; i < calls.size(); ++i) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
  }
  for (const auto& open : streams) {
    open->context.TryCancel();
    EXPECT_FALSE(open->stream->Finish().ok());
  }
  EXPECT_TRUE(Waiting(server_, 0));
  EXPECT_EQ(server_.line_stats().left(), 5000);
  EXPECT_TRUE(WaitUntil([&] { return server_->streams_open() == 0; }));
}

}  // namespace
}  // namespace headgate::rpc
