// The throttle log counts what the clients saw, to the unit, whatever operators do meanwhile.

#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <array>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/override_requests.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr int kClients = 4;
constexpr int kInBatch = 500;

std::string Policy(int rate) {
  return absl::StrCat(R"(
budgets:
  - name: shared
    rate: )",
                      rate, R"(
    burst: 1000
  - name: careful
    rate: 10
    burst: 10
    mode: WARN
rules:
  - name: all-batch
    match: {identity: batch}
    charge: [shared]
  - name: watched
    match: {segment: watched}
    charge: [careful]
)");
}

// By outcome: allowed, would be denied, denied.
using Seen = std::array<int64_t, 3>;

size_t OutcomeOf(const v1::Decision& decision) {
  if (decision.verdict() == v1::VERDICT_DENIED) return 2;
  return decision.violations().empty() ? 0 : 1;
}

// Each client is one of several jobs in turn, half of them watched.
void Ask(const RunningHeadgated& server, int client, int64_t batches,
         std::map<std::string, Seen>& seen) {
  for (int64_t batch = 0; batch < batches; ++batch) {
    v1::BatchCheckRequest request;
    for (int i = 0; i < kInBatch; ++i) {
      v1::CheckRequest& check = *request.add_checks();
      check.set_identity(
          absl::StrCat("job-", client, "-", i % 5, i % 2 == 0 ? ":watched" : "", ":batch"));
      check.set_estimated_cost(1);
    }
    v1::BatchCheckResponse response;
    const grpc::Status status =
        CallRpc(server.channel(), &v1::ThrottlerService::Stub::BatchCheck, request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    for (int i = 0; i < kInBatch; ++i) {
      ++seen[request.checks(i).identity()][OutcomeOf(response.results(i).decision())];
    }
  }
}

// Rules are replaced, and overrides made and ended, until told to stop.
void Disturb(RunningHeadgated& server, const std::atomic<bool>& stop) {
  using Stub = v1::OverrideService::Stub;
  // relaxed: it only has to be seen some time.
  for (int round = 0; !stop.load(std::memory_order_relaxed); ++round) {
    server.Rewrite(Policy(1000 + 1000 * (round % 50)));
    v1::CreateOverrideRequest request = Pause(absl::StrCat("job-1-", round % 5, ":batch"));
    if (round % 2 == 1) {
      request.set_kind(v1::OVERRIDE_KIND_THROTTLE);
      request.set_ratio(0.5);
    }
    v1::CreateOverrideResponse made;
    const grpc::Status created = CallRpc(server.channel(), &Stub::CreateOverride, request, made);
    ASSERT_TRUE(created.ok()) << created.error_message();
    const grpc::Status deleted =
        CallRpc(server.channel(), &Stub::DeleteOverride, Ending(made.override().id()));
    ASSERT_TRUE(deleted.ok()) << deleted.error_message();
  }
}

std::map<std::string, Seen> Logged(const RunningHeadgated& server) {
  v1::QueryThrottleLogRequest request;
  request.add_group_by(v1::LOG_GROUP_IDENTITY);
  const v1::QueryThrottleLogResponse response =
      AnswerOf(server.channel(), &v1::ThrottleLogService::Stub::QueryThrottleLog, request);
  std::map<std::string, Seen> logged;
  for (const v1::LogSum& sum : response.sums()) {
    logged[sum.identity()] = {sum.allowed(), sum.would_be_denied(), sum.denied()};
  }
  return logged;
}

int64_t Total(const std::map<std::string, Seen>& seen) {
  int64_t total = 0;
  for (const auto& [identity, counts] : seen) total += counts[0] + counts[1] + counts[2];
  return total;
}

TEST(ThrottleLogCounts, EqualWhatTheClientsSaw) {
  RunningHeadgated server({.yaml = Policy(1000)});
  const auto batches = static_cast<int64_t>(500 * TestScale());
  std::array<std::map<std::string, Seen>, kClients> seen;
  std::atomic<bool> stop{false};
  std::thread disturber([&] { Disturb(server, stop); });
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] { Ask(server, client, batches, seen.at(client)); });
  }
  for (std::thread& client : clients) client.join();
  stop.store(true, std::memory_order_relaxed);
  disturber.join();

  std::map<std::string, Seen> all;
  for (const auto& of_client : seen) all.insert(of_client.begin(), of_client.end());
  ASSERT_EQ(Total(all), kClients * kInBatch * batches);
  EXPECT_TRUE(WaitUntil([&] { return Total(Logged(server)) >= Total(all); }));
  EXPECT_EQ(Logged(server), all);
  int64_t denied = 0, would_be = 0;
  for (const auto& [identity, counts] : all) {
    denied += counts[2];
    would_be += counts[1];
  }
  EXPECT_GT(denied, 0);
  EXPECT_GT(would_be, 0);
}

}  // namespace
}  // namespace headgate
