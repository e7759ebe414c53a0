// Which Checks the throttle log counts.

#include <map>

#include "server/throttle_log/recorder.h"
#include "tests/rpc/rpc_fixture.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using throttle_log::Counts;
using throttle_log::Outcome;
using throttle_log::RowKey;

class RecordTest : public testing::Test {
 protected:
  explicit RecordTest(int threads = 1) {
    const absl::Status installed =
        engine_.Install(OneBudget(RateBudget("b", 10, 100)), clock_.Read());
    EXPECT_TRUE(installed.ok()) << installed;
    RpcServerOptions options = TestServer::Options();
    options.threads = threads;
    auto started = RpcServer::Start(options, {.engine = engine_,
                                              .clock = clock_,
                                              .status = quiet_.status,
                                              .activity = quiet_.activity,
                                              .recorder = recorder_,
                                              .access = quiet_.access,
                                              .calls = quiet_.calls});
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    stub_ = v1::ThrottlerService::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));
  }

  v1::Decision Check(const v1::CheckRequest& request) {
    Context context;
    v1::CheckResponse response;
    const grpc::Status status = stub_->Check(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.decision();
  }
  // Checks of one outcome.
  int64_t Counted(Outcome outcome) {
    recorder_.Collect([this](const RowKey& key, const Counts& counts) {
      EXPECT_EQ(key.identity, "job:etl");
      sums_[key.outcome].Add(counts);
    });
    return sums_[outcome].checks;
  }

  FakeClock clock_;
  engine::Engine engine_{TestServer::EngineOptions()};
  QuietDependencies quiet_{engine_, clock_};
  throttle_log::Recorder recorder_{engine_, {.seed = 3}};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::ThrottlerService::Stub> stub_;
  std::map<Outcome, Counts> sums_;
};

TEST_F(RecordTest, CountsChecksAllowedAndDenied) {
  Check(CheckOf("job:etl", 60));
  Check(CheckOf("job:etl", 60));
  Check(CheckOf("job:etl", 30));
  EXPECT_EQ(Counted(Outcome::kAllowed), 2);
  EXPECT_EQ(Counted(Outcome::kDenied), 1);
  EXPECT_EQ(sums_[Outcome::kAllowed].cost, 90);
  EXPECT_EQ(recorder_.RecentDenials("etl", 0, 10).size(), 1);
}

TEST_F(RecordTest, LeavesOutWhatIsOnlyValidatedRepeatedOrExplained) {
  v1::CheckRequest request = CheckOf("job:etl", 10);
  request.set_validate_only(true);
  Check(request);
  request.set_validate_only(false);
  request.set_request_id("once");
  Check(request);
  Check(request);
  Context context;
  v1::ExplainRequest explain;
  *explain.mutable_check() = CheckOf("job:etl", 10);
  v1::ExplainResponse explained;
  EXPECT_TRUE(stub_->Explain(&context, explain, &explained).ok());
  EXPECT_EQ(Counted(Outcome::kAllowed), 1);
}

TEST_F(RecordTest, CountsEachCheckOfABatchThatIsDecided) {
  v1::BatchCheckRequest batch;
  for (int i = 0; i < 300; ++i) *batch.add_checks() = CheckOf("job:etl", 1);
  batch.mutable_checks(7)->set_identity("not an identity");
  batch.mutable_checks(8)->set_validate_only(true);
  Context context;
  v1::BatchCheckResponse response;
  ASSERT_TRUE(stub_->BatchCheck(&context, batch, &response).ok());
  EXPECT_EQ(Counted(Outcome::kAllowed), 100);
  EXPECT_EQ(Counted(Outcome::kDenied), 198);
}

TEST_F(RecordTest, CountsWhatComesInStreams) {
  Context context;
  auto stream = stub_->CheckStream(&context);
  v1::CheckStreamRequest request;
  for (int i = 0; i < 30; ++i) *request.add_checks() = CheckOf("job:etl", 1);
  v1::CheckStreamResponse response;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Counted(Outcome::kAllowed), 100);
  EXPECT_EQ(Counted(Outcome::kDenied), 20);
}

class RecordOnTwoThreads : public RecordTest {
 protected:
  RecordOnTwoThreads() : RecordTest(2) {}
};

TEST_F(RecordOnTwoThreads, CountsOnEachOfThem) {
  for (int i = 0; i < 50; ++i) Check(CheckOf("job:etl", 1));
  EXPECT_EQ(Counted(Outcome::kAllowed), 50);
}

}  // namespace
}  // namespace headgate::rpc
