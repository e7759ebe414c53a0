// The wall clock is set back while headgated runs, or stops: nothing of it waits until that clock
// has caught up.

#include "tests/testing/clock_step/clock_step.h"

#include <poll.h>

#include <csignal>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"
#include "tests/testing/waiting_checks.h"

namespace headgate {
namespace {

constexpr char kShutForDays[] = R"(
budgets:
  - {name: turns, rate: 0.001, burst: 10}
rules:
  - {name: jobs, match: {identity: etl}, charge: [turns]}
)";
constexpr char kLongGrace[] = "--grace=120s";
constexpr absl::Duration kFarFromTheGrace = absl::Minutes(1);

class RestartClock : public ::testing::Test {
 protected:
  bool AwaitWaiting(int64_t checks) {
    return server_.AwaitStatus(
        [&](const auto& status) { return status.waiting().waiting() == checks; });
  }
  // As the server sees it: its state was written at most some seconds ago.
  bool IsAnHourBehind() const {
    const int64_t at_s = server_.Status().snapshot().as_of().seconds();
    return absl::FromUnixSeconds(at_s) < SystemClock::ReadKernel().wall() - absl::Minutes(59);
  }
  // After a SIGTERM.
  void ExpectEnd(WaitingChecks& checks) {
    const auto has_ended = [&] {
      checks.Listen(absl::Milliseconds(5));
      return server_.HasEnded();
    };
    EXPECT_TRUE(WaitUntil(has_ended, kFarFromTheGrace)) << server_.Log();
    EXPECT_TRUE(server_.Outcome().ok()) << server_.Outcome();
  }

  const TempFolder folder_;
  const ClockStep clock_{folder_.File("clock")};
  RunningHeadgated server_{
      {.yaml = kShutForDays, .flags = {kLongGrace}, .environment = clock_.environment()}};
};

TEST_F(RestartClock, AServerWhoseClockWasSetBackStopsAtOnce) {
  EXPECT_EQ(server_.Check("first:etl", 10).verdict(), v1::VERDICT_ALLOWED);
  // gRPC has timers for the deadlines of these, which it waits for when the clock is set.
  WaitingChecks checks(server_.address(), {.checks = 20, .patience = absl::Seconds(2)});
  checks.Send();
  ASSERT_TRUE(AwaitWaiting(20));
  clock_.Set(-absl::Hours(1));
  EXPECT_TRUE(WaitUntil([&] { return IsAnHourBehind(); }));
  EXPECT_EQ(checks.Await(kFarFromTheGrace).unanswered, 0);
  EXPECT_TRUE(AwaitWaiting(0));
  server_.Signal(SIGTERM);
  ExpectEnd(checks);
}

TEST_F(RestartClock, WhoeverWaitsThereIsSentAway) {
  EXPECT_EQ(server_.Check("first:etl", 10).verdict(), v1::VERDICT_ALLOWED);
  WaitingChecks checks(server_.address(), {.checks = 100, .patience = absl::Seconds(90)});
  checks.Send();
  ASSERT_TRUE(AwaitWaiting(100));
  clock_.Set(-absl::Hours(1));
  EXPECT_TRUE(WaitUntil([&] { return IsAnHourBehind(); }));
  server_.Signal(SIGTERM);
  EXPECT_EQ(checks.Await(kFarFromTheGrace).sent_away, 100);
  ExpectEnd(checks);
}

// Whatever it waits for in between, the clock is set back in the middle of it.
TEST_F(RestartClock, AClockThatIsSetBackAgainAndAgainHoldsUpNoStop) {
  EXPECT_EQ(server_.Check("first:etl", 10).verdict(), v1::VERDICT_ALLOWED);
  WaitingChecks checks(server_.address(), {.checks = 100, .patience = absl::Seconds(90)});
  checks.Send();
  ASSERT_TRUE(AwaitWaiting(100));
  std::jthread setter([&](const std::stop_token& stop) {
    for (int hours = 1; !stop.stop_requested(); ++hours) {
      clock_.Set(-absl::Hours(hours));
      poll(nullptr, 0, 3);
    }
  });
  server_.Signal(SIGTERM);
  EXPECT_EQ(checks.Await(kFarFromTheGrace).sent_away, 100);
  ExpectEnd(checks);
  setter.request_stop();
}

}  // namespace
}  // namespace headgate
