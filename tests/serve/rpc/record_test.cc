// Which Checks the throttle log counts.

#include <map>

#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using throttle_log::Counts;
using throttle_log::Outcome;
using throttle_log::RowKey;

class RecordTest : public testing::Test {
 protected:
  explicit RecordTest(int threads = 1)
      : server_(OneBudget(RateBudget("b", 10, 100)), {.rpc = OnThreads(threads)}) {}

  // Checks of one outcome.
  int64_t Counted(Outcome outcome) {
    server_.recorder.Collect({}, [this](const RowKey& key, const Counts& counts) {
      EXPECT_EQ(key.identity, "job:etl");
      sums_[key.outcome].Add(counts);
    });
    return sums_[outcome].checks;
  }

  static RpcServerOptions OnThreads(int threads) {
    RpcServerOptions options = InProcessServer::Rpc();
    options.threads = threads;
    return options;
  }

  InProcessServer server_;
  std::map<Outcome, Counts> sums_;
};

TEST_F(RecordTest, CountsChecksAllowedAndDenied) {
  server_.Check(CheckOf("job:etl", 60));
  server_.Check(CheckOf("job:etl", 60));
  server_.Check(CheckOf("job:etl", 30));
  EXPECT_EQ(Counted(Outcome::kAllowed), 2);
  EXPECT_EQ(Counted(Outcome::kDenied), 1);
  EXPECT_EQ(sums_[Outcome::kAllowed].cost, 90);
  EXPECT_EQ(server_.recorder.RecentDenials({}, 0, 10).size(), 1);
}

TEST_F(RecordTest, LeavesOutWhatIsOnlyValidatedRepeatedOrExplained) {
  v1::CheckRequest request = CheckOf("job:etl", 10);
  request.set_validate_only(true);
  server_.Check(request);
  request.set_validate_only(false);
  request.set_request_id("once");
  server_.Check(request);
  server_.Check(request);
  v1::ExplainRequest explain;
  *explain.mutable_check() = CheckOf("job:etl", 10);
  EXPECT_TRUE(CallRpc(server_.channel, &v1::ThrottlerService::Stub::Explain, explain).ok());
  EXPECT_EQ(Counted(Outcome::kAllowed), 1);
}

TEST_F(RecordTest, CountsEachCheckOfABatchThatIsDecided) {
  v1::BatchCheckRequest batch;
  for (int i = 0; i < 300; ++i) *batch.add_checks() = CheckOf("job:etl", 1);
  batch.mutable_checks(7)->set_identity("not an identity");
  batch.mutable_checks(8)->set_validate_only(true);
  server_.Batch(batch);
  EXPECT_EQ(Counted(Outcome::kAllowed), 100);
  EXPECT_EQ(Counted(Outcome::kDenied), 198);
}

TEST_F(RecordTest, CountsWhatComesInStreams) {
  OpenStream open(server_.channel);
  v1::CheckStreamResponse response;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(open.stream->Write(MessageOf(30, 1)));
    ASSERT_TRUE(open.stream->Read(&response));
  }
  EXPECT_TRUE(open.Close().ok());
  EXPECT_EQ(Counted(Outcome::kAllowed), 100);
  EXPECT_EQ(Counted(Outcome::kDenied), 20);
}

TEST_F(RecordTest, CountsACheckThatWaitsOnceByWhatBecameOfIt) {
  server_.Check(CheckOf("job:etl", 100));
  WaitingCaller admitted(server_.channel, WaitingCheck("job:etl", 50));
  ASSERT_TRUE(Waiting(server_, 1));
  WaitingCaller denied(server_.channel, WaitingCheck("job:etl", 60, absl::Seconds(6)));
  ASSERT_TRUE(Waiting(server_, 2));
  EXPECT_EQ(Counted(Outcome::kAllowed), 1);
  EXPECT_EQ(Counted(Outcome::kDenied), 0);
  server_.Advance(absl::Seconds(5));
  EXPECT_EQ(admitted.Decision().verdict(), v1::VERDICT_ALLOWED);
  server_.Advance(absl::Seconds(1));
  EXPECT_EQ(denied.Decision().verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(Counted(Outcome::kAllowed), 2);
  EXPECT_EQ(sums_[Outcome::kAllowed].cost, 150);
  EXPECT_EQ(Counted(Outcome::kDenied), 1);
  EXPECT_EQ(sums_[Outcome::kDenied].cost, 60);
  EXPECT_EQ(server_.recorder.RecentDenials({}, 0, 10).size(), 1);
}

TEST_F(RecordTest, CountsTheWaitingChecksOfABatchWithTheOthersOfIt) {
  v1::BatchCheckRequest batch;
  *batch.add_checks() = CheckOf("job:etl", 100);
  *batch.add_checks() = WaitingCheck("job:etl", 50);
  *batch.add_checks() = CheckOf("job:etl", 70);
  WaitingBatchCaller caller(server_.channel, batch);
  ASSERT_TRUE(Waiting(server_, 1));
  // The others are counted a moment after that one stands in the line.
  ASSERT_TRUE(WaitUntil([&] { return Counted(Outcome::kDenied) == 1; }));
  EXPECT_EQ(Counted(Outcome::kAllowed), 1);
  server_.Advance(absl::Seconds(5));
  EXPECT_EQ(caller.Answer().results_size(), 3);
  EXPECT_EQ(Counted(Outcome::kAllowed), 2);
  EXPECT_EQ(Counted(Outcome::kDenied), 1);
}

TEST_F(RecordTest, DoesNotCountWhoLeavesBeforeADecision) {
  server_.Check(CheckOf("job:etl", 100));
  WaitingCaller caller(server_.channel, WaitingCheck("job:etl", 50));
  ASSERT_TRUE(Waiting(server_, 1));
  caller.context.TryCancel();
  EXPECT_FALSE(caller.Status().ok());
  ASSERT_TRUE(Waiting(server_, 0));
  EXPECT_EQ(Counted(Outcome::kAllowed), 1);
  EXPECT_EQ(Counted(Outcome::kDenied), 0);
}

class RecordOnTwoThreads : public RecordTest {
 protected:
  RecordOnTwoThreads() : RecordTest(2) {}
};

TEST_F(RecordOnTwoThreads, CountsOnEachOfThem) {
  for (int i = 0; i < 50; ++i) server_.Check(CheckOf("job:etl", 1));
  EXPECT_EQ(Counted(Outcome::kAllowed), 50);
}

}  // namespace
}  // namespace headgate::rpc
