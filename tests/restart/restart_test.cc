// headgated is told to stop, and killed, again and again under load: no Check fails that is asked
// once more, no limit is passed, no override and no permit is lost, but for what a kill took away
// in its last second.

#include <grpc/health/v1/health.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/restart/caller.h"
#include "tests/restart/operator.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/test_scale.h"

namespace headgate {
namespace {

constexpr int kCallers = 6;
constexpr double kCost = 5;
constexpr double kRate = 200, kBurst = 100;            // of each job
constexpr double kWholeRate = 600, kWholeBurst = 200;  // of all of them
constexpr double kHoardRate = 1, kHoardBurst = 3000, kHoardPace = 50;
// What is lost is at most a second, and what it takes to write it down. Time for which the server
// had no processor comes on top of it.
constexpr absl::Duration kMayBeLost = absl::Milliseconds(1700);

constexpr char kPolicy[] = R"(
engine:
  permit_ttl: 10m
budgets:
  - name: job
    rate: 200
    burst: 100
    split:
      depth: 8
  - name: whole
    rate: 600
    burst: 200
  - name: pace
    rate: 50
    burst: 50
  - name: hoard
    rate: 1
    burst: 3000
  - name: sum
    rate: 0.001
    burst: 1000000000
rules:
  - name: jobs
    match:
      identity: load
    charge: [job, whole, sum]
  - name: hoarders
    match:
      identity: hoard
    charge: [pace, hoard]
  - name: chunks
    match:
      identity: chunks
    charge: [sum]
)";

class Restart : public testing::Test {
 protected:
  void StartCallers(int tries) {
    for (int i = 0; i < kCallers; ++i) {
      callers_.push_back(std::make_unique<RestartCaller>(
          server_.address(), absl::StrCat("job-", i, ":load"), kCost, tries));
    }
  }
  static void Pass(int milliseconds) {
    const int64_t until_ns = MonotonicNs() + int64_t{milliseconds} * 1'000'000;
    (void)WaitUntil([&] { return MonotonicNs() >= until_ns; });
  }
  CallerCounts StopCallers() {
    CallerCounts all;
    for (const auto& caller : callers_) {
      caller->Stop();
      all.checks += caller->counts().checks;
      all.retried += caller->counts().retried;
      all.cancelled += caller->counts().cancelled;
      all.failed += caller->counts().failed;
      if (!caller->counts().last_error.empty()) all.last_error = caller->counts().last_error;
    }
    std::printf("%lld Checks, %lld of them asked again (%lld after CANCELLED), %lld failed\n",
                static_cast<long long>(all.checks), static_cast<long long>(all.retried),
                static_cast<long long>(all.cancelled), static_cast<long long>(all.failed));
    return all;
  }
  // Of what no kill may have taken; `share` of all has to be left.
  void ExpectLimitsHeld(const std::vector<Kill>& kills, double share) const {
    std::vector<Admission> whole;
    for (const auto& caller : callers_) {
      const std::vector<Admission>& own = caller->admissions();
      whole.insert(whole.end(), own.begin(), own.end());
      EXPECT_LE(OverAdmission(WithoutLost(kills, own), kBurst, kRate), 1e-6);
    }
    const std::vector<Admission> kept = WithoutLost(kills, whole);
    const double over = OverAdmission(kept, kWholeBurst, kWholeRate);
    std::printf(
        "%zu admitted; of %zu at least %.1f units below the limit of all in every interval\n",
        whole.size(), kept.size(), -over);
    EXPECT_LE(over, 1e-6);
    EXPECT_GT(kept.size(), 100U);
    EXPECT_GE(static_cast<double>(kept.size()), share * static_cast<double>(whole.size()));
  }
  // A budget that hardly drains adds up what all kills took.
  static void ExpectHoardHeld(const std::vector<Admission>& hoard, const std::vector<Kill>& kills) {
    ASSERT_FALSE(hoard.empty());
    const double admitted = SumOf(hoard);
    const double lost = admitted - SumOf(WithoutLost(kills, hoard));
    int64_t from_ns = hoard[0].sent_ns;
    int64_t until_ns = hoard[0].received_ns;
    for (const Admission& one : hoard) {
      from_ns = std::min(from_ns, one.sent_ns);
      until_ns = std::max(until_ns, one.received_ns);
    }
    const double drained = kHoardRate * static_cast<double>(until_ns - from_ns) / 1e9;
    std::printf("%.0f hoarded of %.0f, and %.0f drained, and %.0f that kills may have taken\n",
                admitted, kHoardBurst, drained, lost);
    EXPECT_LE(admitted, kHoardBurst + drained + lost);
    // It came to the limit, or where there are few rounds on its way there.
    EXPECT_GE(admitted,
              std::min(kHoardBurst - kCost, kHoardPace * static_cast<double>(kills.size())));
  }

  // Kills it once what was answered at `since_ns` is kept; by its own word so much is lost then.
  Kill KillAfter(const Operator& before, int64_t since_ns) {
    int64_t asked_ns = 0;
    absl::Duration age;
    EXPECT_TRUE(WaitUntil([&] {
      asked_ns = MonotonicNs();
      const v1::SnapshotStatus snapshot = before.Snapshot();
      age = absl::Seconds(snapshot.age().seconds()) + absl::Nanoseconds(snapshot.age().nanos());
      return snapshot.has_as_of() && asked_ns - absl::ToInt64Nanoseconds(age) > since_ns;
    }));
    EXPECT_LE(age, kMayBeLost + WaitedForProcessor(server_.pid()));
    server_.Kill();
    const int64_t at_ns = MonotonicNs();
    return {.at_ns = at_ns, .lost = age + absl::Nanoseconds(at_ns - asked_ns)};
  }

  RunningHeadgated server_{{.yaml = kPolicy}};
  std::vector<std::unique_ptr<RestartCaller>> callers_;
};

TEST_F(Restart, ToldToStopUnderLoadLosesNothingAndFailsNoCheckThatIsAskedOnceMore) {
  const int rounds = Scaled(19);
  StartCallers(2);
  std::set<int64_t> paused;
  absl::Duration longest;
  for (int round = 0; round < rounds; ++round) {
    Pass(300);
    uint64_t permit = 0;
    {
      const Operator before(server_.address());
      paused.insert(before.Pause(absl::StrCat("paused-", round, ":other")));
      permit = before.Take(1000);
    }
    const int64_t told_ns = MonotonicNs();
    server_.Terminate();
    longest = std::max(longest, absl::Nanoseconds(MonotonicNs() - told_ns));
    server_.Restart();
    const Operator after(server_.address());
    EXPECT_EQ(after.InForce(), paused) << "round " << round;
    const double owed = after.Owed("sum");
    // As predicted: anything else would teach the server that all work costs less.
    EXPECT_EQ(after.Report(permit, 1000), v1::REPORT_OUTCOME_SETTLED) << "round " << round;
    EXPECT_GT(after.Snapshot().restored_permits(), 0);
    EXPECT_GT(owed, 1000);
  }
  const CallerCounts counts = StopCallers();
  std::printf("%d stops, the longest took %lld ms\n", rounds,
              static_cast<long long>(absl::ToInt64Milliseconds(longest)));
  EXPECT_EQ(counts.failed, 0) << counts.last_error;
  ExpectLimitsHeld({}, 1);
  double admitted = 1000.0 * rounds;
  for (const auto& caller : callers_) {
    admitted += kCost * static_cast<double>(caller->admissions().size());
  }
  // Every Check that was answered, none twice; what a lost answer admitted is in it as well.
  const double owed = Operator(server_.address()).Owed("sum");
  EXPECT_GE(owed, admitted - 1);
  EXPECT_LE(owed, admitted + kCost * static_cast<double>(counts.retried));
  // The log is complete when a server has stopped.
  server_.Terminate();
  server_.Restart();
  const int64_t logged = Operator(server_.address()).Logged();
  EXPECT_GE(logged, counts.checks + rounds);
  EXPECT_LE(logged, counts.checks + rounds + counts.retried);
}

TEST_F(Restart, KilledUnderLoadLosesTheLastSecondAtMost) {
  const int rounds = Scaled(49);
  std::mt19937 random(20260105);
  std::uniform_int_distribution<int> milliseconds(2000, 2600);
  StartCallers(1000);
  RestartCaller hoarder(server_.address(), "job:hoard", kCost, 1000);
  std::set<int64_t> paused;
  std::vector<Kill> kills;
  for (int round = 0; round < rounds; ++round) {
    const Operator before(server_.address());
    const uint64_t permit = before.Take(1);
    const int64_t taken_ns = MonotonicNs();
    paused.insert(before.Pause(absl::StrCat("paused-", round, ":other")));
    Pass(milliseconds(random));
    kills.push_back(KillAfter(before, taken_ns));
    server_.Restart();
    const Operator after(server_.address());
    EXPECT_EQ(after.InForce(), paused) << "round " << round;
    EXPECT_EQ(after.Snapshot().refused(), "");
    EXPECT_EQ(after.Report(permit, 1), v1::REPORT_OUTCOME_SETTLED) << "round " << round;
  }
  hoarder.Stop();
  const CallerCounts counts = StopCallers();
  EXPECT_EQ(counts.failed, 0) << counts.last_error;
  ExpectLimitsHeld(kills, 0.15);
  ExpectHoardHeld(hoarder.admissions(), kills);
  double kept = 0;
  double admitted = 0;
  for (const auto& caller : callers_) {
    admitted += SumOf(caller->admissions());
    kept += SumOf(WithoutLost(kills, caller->admissions()));
  }
  const double owed = Operator(server_.address()).Owed("sum");
  std::printf("%.0f units admitted, %.0f of them in time, %.0f owed afterwards\n", admitted, kept,
              owed);
  EXPECT_GE(owed, kept - 1);
}

// Held calls whose callers are gone are not waited for, and none is beyond the grace.
class RestartGrace : public testing::TestWithParam<const char*> {};

TEST_P(RestartGrace, CallersThatGiveUpAreNoObstacleToAnEndInOrder) {
  RunningHeadgated server({.yaml = kPolicy, .flags = {GetParam()}});
  std::vector<std::unique_ptr<RestartCaller>> callers;
  for (int i = 0; i < 2 * kCallers; ++i) {
    callers.push_back(std::make_unique<RestartCaller>(
        server.address(), absl::StrCat("job-", i, ":load"), kCost, 2, /*patience_ms=*/20));
  }
  for (int round = 0; round < Scaled(3); ++round) {
    // On a busy machine few hear of a Check in time.
    const int64_t until_ns = MonotonicNs() + 300'000'000;
    EXPECT_TRUE(WaitUntil([&] {
      return MonotonicNs() >= until_ns &&
             std::ranges::any_of(callers, [](const auto& one) { return one->was_admitted(); });
    }));
    server.Terminate();
    server.Restart();
  }
  double admitted = 0;
  for (const auto& caller : callers) {
    caller->Stop();
    admitted += kCost * static_cast<double>(caller->admissions().size());
  }
  EXPECT_GT(admitted, 0);
  EXPECT_GE(Operator(server.address()).Owed("sum"), admitted - 1);
}

INSTANTIATE_TEST_SUITE_P(Of, RestartGrace,
                         testing::Values("--grace=10s", "--grace=20ms", "--grace=1ms",
                                         "--grace=0s"),
                         [](const auto& test) { return absl::StrCat("Case", test.index); });

TEST(RestartFaults, ADamagedStateIsSetAsideAndSaid) {
  RunningHeadgated server({.yaml = kPolicy});
  const uint64_t lost = Operator(server.address()).Take(1000);
  server.Terminate();
  std::filesystem::resize_file((server.state() / "engine.snapshot"), 200);
  server.Restart();
  const Operator after(server.address());
  EXPECT_EQ(after.Owed("sum"), 0);
  const v1::SnapshotStatus snapshot = after.Snapshot();
  EXPECT_NE(snapshot.refused().find("cut short"), std::string::npos) << snapshot.DebugString();
  EXPECT_FALSE(snapshot.has_restored_from());
  EXPECT_EQ(snapshot.set_aside(), (server.state() / "engine.snapshot.refused").string());
  EXPECT_TRUE(std::filesystem::exists(snapshot.set_aside()));
  EXPECT_NE(after.Take(1), lost);
  EXPECT_EQ(snapshot.error(), "");
}

TEST(RestartFaults, ASecondServerLeavesTheStateOfTheFirstAlone) {
  RunningHeadgated server({.yaml = kPolicy});
  server.Signal(SIGSTOP);  // so that it does not write either
  const std::string path = (server.state() / "engine.snapshot").string();
  std::filesystem::remove(path);
  std::ofstream(path) << "of another release";
  EXPECT_FALSE(HeadgatedProcess({.state = server.state()}).Start().ok());
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".refused"));
  server.Signal(SIGCONT);
  server.Terminate();
  server.Restart();
  EXPECT_EQ(Operator(server.address()).Snapshot().refused(), "");  // it wrote its own once more
}

TEST(RestartSignals, ItAnswersUntilThePauseIsOverAndEndsAtOnceWhenToldTwice) {
  RunningHeadgated server({.yaml = kPolicy, .flags = {"--pre-stop=50s"}});
  const Operator caller(server.address());
  const auto health = grpc::health::v1::Health::NewStub(ChannelTo(server.address()));
  const auto serves = [&] {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    grpc::health::v1::HealthCheckResponse response;
    EXPECT_TRUE(health->Check(&context, {}, &response).ok());
    return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  };
  EXPECT_TRUE(serves());
  server.Signal(SIGTERM);
  EXPECT_TRUE(WaitUntil([&] { return !serves(); }));
  EXPECT_NE(caller.Take(1), 0U);
  server.Signal(SIGTERM);
  EXPECT_TRUE(server.HasEnded(absl::Seconds(20)));
  EXPECT_FALSE(server.Outcome().ok());
}

}  // namespace
}  // namespace headgate
