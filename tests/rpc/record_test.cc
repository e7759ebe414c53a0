// Which Checks the throttle log counts.

#include <map>

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
    server_.recorder.Collect([this](const RowKey& key, const Counts& counts) {
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
  EXPECT_EQ(server_.recorder.RecentDenials("etl", 0, 10).size(), 1);
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
