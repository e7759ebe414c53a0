// headgated is told to stop while many Checks wait in line: all are sent away at once, come back to
// the next server, and get their turn there.

#include <headgate/client.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/restart/operator.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"
#include "tests/testing/waiting_checks.h"

namespace headgate {
namespace {

constexpr int kChecks = 1000;

// A server that did not send them away at once would keep them to the end of its grace.
constexpr char kGrace[] = "--grace=120s";
constexpr absl::Duration kFarFromGrace = absl::Minutes(1);
constexpr absl::Duration kLong = absl::Minutes(2);  // that nothing takes

// What is full when the first server runs, and lets all of them through in 2 s at the second.
constexpr char kShut[] = R"(
budgets:
  - {name: turns, rate: 0.001, burst: 10}
  - {name: sum, rate: 0.001, burst: 1000000}
rules:
  - {name: jobs, match: {identity: etl}, charge: [turns, sum]}
)";
constexpr char kOpen[] = R"(
budgets:
  - {name: turns, rate: 500, burst: 10}
  - {name: sum, rate: 0.001, burst: 1000000}
rules:
  - {name: jobs, match: {identity: etl}, charge: [turns, sum]}
)";

bool AwaitWaiting(const RunningHeadgated& server, int64_t checks) {
  return server.AwaitStatus(
      [&](const auto& status) { return status.waiting().waiting() == checks; });
}

TEST(RestartLine, AThousandWhoWaitAreSentAwayAtOnceAndGetTheirTurnAtTheNextServer) {
  RunningHeadgated server({.yaml = kShut, .flags = {kGrace}});
  EXPECT_EQ(server.Check("first:etl", 10).verdict(), v1::VERDICT_ALLOWED);
  WaitingChecks checks(server.address(), {.checks = kChecks});
  checks.Send();
  ASSERT_TRUE(AwaitWaiting(server, kChecks));

  const int64_t told_ns = MonotonicNs();
  server.Signal(SIGTERM);
  const WaitingOutcomes away = checks.Await(kLong);
  const absl::Duration sent_away_in = absl::Nanoseconds(MonotonicNs() - told_ns);
  EXPECT_TRUE(WaitUntil(
      [&] {
        checks.Listen(absl::Milliseconds(5));
        return server.HasEnded();
      },
      kLong));
  const absl::Duration stopped_in = absl::Nanoseconds(MonotonicNs() - told_ns);
  std::printf("%d sent away within %lld ms, the server ended after %lld ms\n", away.sent_away,
              static_cast<long long>(absl::ToInt64Milliseconds(sent_away_in)),
              static_cast<long long>(absl::ToInt64Milliseconds(stopped_in)));
  EXPECT_EQ(away.sent_away, kChecks) << away.last_error;
  EXPECT_LT(sent_away_in, kFarFromGrace);
  EXPECT_LT(stopped_in, kFarFromGrace);
  EXPECT_TRUE(server.Outcome().ok()) << server.Outcome();

  server.Rewrite(kOpen);
  server.Restart();
  checks.Send();
  const WaitingOutcomes admitted = checks.Await(kLong);
  EXPECT_EQ(admitted.allowed, kChecks) << admitted.failed << " failed: " << admitted.last_error;
  // Each was charged once, and nothing was while it waited.
  EXPECT_NEAR(Operator(server.address()).Owed("sum"), 10 + kChecks, 1);
  EXPECT_EQ(server.Status().waiting().waiting(), 0);
}

// One client's jobs, each of which waits for one turn.
class WaitingJobs {
 public:
  WaitingJobs(const std::string& address, int jobs) {
    auto client = client::Client::Create({.address = address,
                                          .on_unreachable = client::OnUnreachable::Fail(),
                                          .check_deadline = kLong,
                                          .longest_wait = kLong});
    EXPECT_TRUE(client.ok()) << client.status();
    if (!client.ok()) std::abort();
    client_ = *std::move(client);
    // The first answer of a client does not wait for long.
    EXPECT_TRUE(client_->Check({.identity = "asks:etl", .validate_only = true}).ok());
    for (int i = 0; i < jobs; ++i) {
      threads_.emplace_back([this, i] {
        auto permit = client_->CheckOrWait(
            {.identity = absl::StrCat("job-", i, ":etl"), .estimated_cost = 1.0},
            absl::Minutes(10));
        // relaxed: read once the threads have ended.
        (permit.ok() ? allowed_ : failed_).fetch_add(1, std::memory_order_relaxed);
        EXPECT_TRUE(permit.ok()) << permit.status();
      });
    }
  }
  void Join() { threads_.clear(); }
  int allowed() const { return allowed_.load(std::memory_order_relaxed); }
  int failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  std::unique_ptr<client::Client> client_;
  std::atomic<int> allowed_{0};
  std::atomic<int> failed_{0};
  std::vector<std::jthread> threads_;  // goes first
};

TEST(RestartLine, JobsOfTheClientLibraryThatWaitDoNotNoticeTwoRestarts) {
  constexpr int kJobs = 100;
  RunningHeadgated server({.yaml = kShut, .flags = {kGrace}});
  EXPECT_EQ(server.Check("first:etl", 10).verdict(), v1::VERDICT_ALLOWED);
  WaitingJobs jobs(server.address(), kJobs);
  ASSERT_TRUE(AwaitWaiting(server, kJobs));
  server.Terminate();  // within half a minute, which is far from the end of its grace
  server.Restart();
  ASSERT_TRUE(AwaitWaiting(server, kJobs));  // what was owed is owed still
  server.Terminate();
  server.Rewrite(kOpen);
  server.Restart();
  jobs.Join();
  EXPECT_EQ(jobs.allowed(), kJobs);
  EXPECT_EQ(jobs.failed(), 0);
  EXPECT_NEAR(Operator(server.address()).Owed("sum"), 10 + kJobs, 1);
}

}  // namespace
}  // namespace headgate
