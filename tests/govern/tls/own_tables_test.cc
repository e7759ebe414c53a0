// What the server itself keeps is not held against callers: where documented settings let its own
// tables grow far beyond what callers may take, honest streams stay.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"

namespace headgate::tls {
namespace {

constexpr char kScarce[] = R"(
throttle_log: {max_identities: %d}
server: {threads: %d}
budgets:
- {name: scarce, rate: 0.001, burst: 10}
rules:
- {name: all, charge: [scarce]}
)";

v1::CheckRequest CheckOf(const std::string& identity, double cost) {
  v1::CheckRequest check;
  check.set_identity(identity);
  check.set_estimated_cost(cost);
  return check;
}

// A thousand Checks that wait in one stream, whose caller hears nothing meanwhile: how it ended
// after so many seconds.
grpc::StatusCode EndOfStreamThatWaits(const std::string& address, int seconds) {
  const auto stub = v1::ThrottlerService::NewStub(OwnChannel(address));
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_seconds(seconds, GPR_TIMESPAN));
  const auto stream = stub->CheckStream(&context);
  v1::CheckStreamRequest request;
  for (int i = 0; i < 1000; ++i) {
    v1::CheckRequest& check = *request.add_checks();
    check = CheckOf(absl::StrCat("honest-worker-", i, ":lined:etl"), 5);
    check.mutable_max_wait()->set_seconds(60);
  }
  EXPECT_TRUE(stream->Write(request));
  v1::CheckStreamResponse response;
  while (stream->Read(&response)) {
  }
  return stream->Finish().error_code();
}

// So many identities, which the log counts by name, on each of several connections.
void AskAsMany(const std::string& address, int identities, int connections) {
  constexpr int kAtOnce = 1000;
  for (int connection = 0; connection < connections; ++connection) {
    const auto stub = v1::ThrottlerService::NewStub(OwnChannel(address));
    for (int first = 0; first < identities; first += kAtOnce) {
      v1::BatchCheckRequest batch;
      for (int i = first; i < first + kAtOnce; ++i) {
        *batch.add_checks() = CheckOf(absl::StrCat("worker-", i, ":nightly:etl"), 1e9);
      }
      grpc::ClientContext context;
      v1::BatchCheckResponse response;
      const grpc::Status status = stub->BatchCheck(&context, batch, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
  }
}

struct Growth {
  int max_identities = 0;  // of each thread's tables
  int threads = 0;
  int connections = 0;
};

class OwnTables : public testing::Test {
 protected:
  static void ExpectStreamsStay(const Growth& by) {
    constexpr double kLeastGrowthMiB = 200;  // with less, nothing is shown
    const RunningHeadgated server{
        {.yaml = absl::StrFormat(kScarce, by.max_identities, by.threads)}};
    const double before_mib = UsageOf(server.pid()).value_or(ProcessUsage()).rss_mib;
    AskAsMany(server.address(), by.max_identities, by.connections);
    const double after_mib = UsageOf(server.pid()).value_or(ProcessUsage()).rss_mib;
    EXPECT_GT(after_mib - before_mib, kLeastGrowthMiB);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(EndOfStreamThatWaits(server.address(), 3), grpc::StatusCode::DEADLINE_EXCEEDED);
    }
  }
};

TEST_F(OwnTables, OfManyIdentitiesCutNobody) {
  ExpectStreamsStay({.max_identities = 200'000, .threads = 1, .connections = 3});
}

TEST_F(OwnTables, OfManyThreadsCutNobody) {
  ExpectStreamsStay({.max_identities = 16'000, .threads = 16, .connections = 64});
}

}  // namespace
}  // namespace headgate::tls
