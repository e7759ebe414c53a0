// PollSchedule, stepped by hand: intervals, rests, idleness, backoff, rare signals and work.

#include "server/observe/health/poll_schedule.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Result = PollSchedule::Result;
using Samples = PollSchedule::Samples;
using Step = PollSchedule::Step;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 1'000'000 * kMs;

PlannedQuery Query(std::string signal, absl::Duration every = absl::ZeroDuration()) {
  PlannedQuery query;
  query.query.signal = std::move(signal);
  query.every = every;
  return query;
}

// Times are milliseconds since the start.
class PollScheduleTest : public ::testing::Test {
 protected:
  void Make(std::vector<PlannedQuery> queries, Samples samples = Samples::kSignals) {
    schedule_.emplace(PollingSpec(), std::move(queries),
                      PollSchedule::Options{.seed = 42, .samples = samples}, kStart);
  }

  PollSchedule::Next Next(int64_t at_ms) { return schedule_->NextStep(kStart + at_ms * kMs); }
  // When the next poll is due, on the assumption that nothing else is.
  int64_t PollAt() { return (schedule_->next_poll_ns() - kStart) / kMs; }

  // A poll at that time, which takes so long; the signals that it asks for.
  std::vector<std::string> Poll(int64_t at_ms, int64_t takes_ms = 2, Result result = Result::kOk) {
    const int64_t at_ns = kStart + at_ms * kMs;
    const PollSchedule::Poll poll = schedule_->BeginPoll(at_ns);
    EXPECT_TRUE(schedule_->EndPoll(poll, result, at_ns, at_ns + takes_ms * kMs));
    std::vector<std::string> signals;
    for (const PlannedQuery& planned : poll.queries) signals.push_back(planned.query.signal);
    return signals;
  }

  void Demand(int64_t at_ms) { schedule_->NoteChecks(kStart + at_ms * kMs); }

  void Awaited(bool awaited, int64_t at_ms) {
    schedule_->NoteAwaited(awaited, kStart + at_ms * kMs);
  }

  std::optional<PollSchedule> schedule_;
};

TEST_F(PollScheduleTest, WhatIsAwaitedIsNotIdleHoweverLongItTakes) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  for (int64_t at_ms = 0; at_ms < 300'000; at_ms += 500) {
    ASSERT_EQ(Next(at_ms).step, Step::kPoll) << at_ms;
    Awaited(true, at_ms + 2);
    Poll(at_ms);
    ASSERT_EQ(PollAt(), at_ms + 500);
  }
  EXPECT_EQ(Next(299'999).step, Step::kWork);
  // A minute from when nobody was seen to wait any more, and not from the last Check.
  Awaited(false, 300'002);
  Poll(300'000);
  EXPECT_EQ(PollAt(), 300'500);
  Poll(360'010);
  EXPECT_EQ(PollAt(), 370'010);
}

TEST_F(PollScheduleTest, IdleTargetThatIsAwaitedIsPolledAtOnce) {
  Make({Query("a")});
  Poll(0);
  Poll(60'000);
  EXPECT_EQ(PollAt(), 70'000);
  Awaited(true, 61'000);
  EXPECT_EQ(Next(61'000).step, Step::kPoll);
}

TEST_F(PollScheduleTest, FirstPollIsDueAtOnce) {
  Make({Query("a")});
  EXPECT_EQ(Next(0).step, Step::kPoll);
}

TEST_F(PollScheduleTest, PollsStartOneIntervalApart) {
  Make({Query("a")});
  Poll(0, 7);
  EXPECT_EQ(Next(499).step, Step::kWait);
  EXPECT_EQ(Next(499).at_ns, kStart + 500 * kMs);
  EXPECT_EQ(Next(500).step, Step::kPoll);
  EXPECT_EQ(schedule_->grace_ns(), 0);
}

TEST_F(PollScheduleTest, LongPollIsFollowedByARestAsLongAsItself) {
  Make({Query("a")});
  Poll(0, 400);
  EXPECT_EQ(PollAt(), 800);
}

TEST_F(PollScheduleTest, RestIsNoLongerThanTheInterval) {
  Make({Query("a")});
  Poll(0, 900);
  EXPECT_EQ(PollAt(), 1'400);
}

TEST_F(PollScheduleTest, SlowsDownWithoutDemandAndSaysByHowMuch) {
  Make({Query("a")});
  Poll(59'000);
  EXPECT_EQ(PollAt(), 59'500);
  Poll(60'000);
  EXPECT_EQ(PollAt(), 70'000);
  EXPECT_EQ(schedule_->interval(), absl::Seconds(10));
  EXPECT_EQ(schedule_->grace_ns(), 9'500 * kMs);
}

TEST_F(PollScheduleTest, DemandKeepsItAwake) {
  Make({Query("a")});
  Demand(30'000);
  Poll(60'000);
  EXPECT_EQ(PollAt(), 60'500);
}

TEST_F(PollScheduleTest, FirstDemandAfterIdlenessPollsAtOnceAndKeepsTheGraceOfTheSample) {
  Make({Query("a")});
  Poll(60'000);
  Demand(68'000);
  EXPECT_EQ(Next(68'000).step, Step::kPoll);
  EXPECT_EQ(schedule_->grace_ns(), 9'500 * kMs);
  Poll(68'000);
  EXPECT_EQ(PollAt(), 68'500);
  EXPECT_EQ(schedule_->grace_ns(), 0);
}

TEST_F(PollScheduleTest, DemandWhileAwakeHurriesNothing) {
  Make({Query("a")});
  Poll(1'000);
  Demand(1'100);
  EXPECT_EQ(Next(1'100).step, Step::kWait);
}

TEST_F(PollScheduleTest, BackoffDoublesUpToFiveSecondsWithJitter) {
  Make({Query("a")});
  int64_t at_ms = 0;
  for (const int64_t most_ms : {500, 1'000, 2'000, 4'000, 5'000, 5'000, 5'000}) {
    Poll(at_ms, 0, Result::kFailed);
    const int64_t wait_ms = PollAt() - at_ms;
    EXPECT_GE(wait_ms, most_ms / 2);
    EXPECT_LT(wait_ms, most_ms);
    at_ms = PollAt() + 1;
  }
  EXPECT_EQ(schedule_->failures(), 7);
}

TEST_F(PollScheduleTest, BackoffStaysInBoundsAfterAnyNumberOfFailures) {
  Make({Query("a")});
  for (int i = 0; i < 1'000; ++i) Poll(0, 0, Result::kFailed);
  EXPECT_GE(PollAt(), 2'500);
  EXPECT_LT(PollAt(), 5'000);
}

TEST_F(PollScheduleTest, JitterComesFromTheSeed) {
  const auto first_wait = [](uint64_t seed) {
    PollSchedule schedule({}, {Query("a")}, {.seed = seed}, kStart);
    schedule.EndPoll(schedule.BeginPoll(kStart), Result::kFailed, kStart, kStart);
    return schedule.next_poll_ns();
  };
  EXPECT_EQ(first_wait(1), first_wait(1));
  EXPECT_NE(first_wait(1), first_wait(2));
}

TEST_F(PollScheduleTest, SuccessEndsTheBackoff) {
  Make({Query("a")});
  for (int i = 0; i < 5; ++i) Poll(0, 0, Result::kFailed);
  Poll(10'000);
  EXPECT_EQ(schedule_->failures(), 0);
  EXPECT_EQ(PollAt(), 10'500);
}

TEST_F(PollScheduleTest, DemandDoesNotCutTheBackoffShort) {
  Make({Query("a")});
  Poll(60'000, 0, Result::kFailed);
  const int64_t retry_ms = PollAt();
  Demand(60'001);
  EXPECT_EQ(PollAt(), retry_ms);
}

TEST_F(PollScheduleTest, RareSignalIsAskedByTheNearestPoll) {
  Make({Query("a"), Query("rare", absl::Seconds(30))});
  EXPECT_THAT(Poll(0), ElementsAre("a", "rare"));
  EXPECT_THAT(Poll(500), ElementsAre("a"));
  EXPECT_THAT(Poll(29'700), ElementsAre("a"));
  EXPECT_THAT(Poll(29'800), ElementsAre("a", "rare"));
  EXPECT_THAT(Poll(30'300), ElementsAre("a"));
}

TEST_F(PollScheduleTest, RareSignalIsAskedAgainIfItsPollFailed) {
  Make({Query("a"), Query("rare", absl::Seconds(30))});
  Poll(0, 2, Result::kFailed);
  EXPECT_THAT(Poll(400), ElementsAre("a", "rare"));
}

TEST_F(PollScheduleTest, PollsAreAsFarApartAsTheMostFrequentSignal) {
  Make({Query("x", absl::Seconds(3)), Query("y", absl::Seconds(30))});
  Poll(0);
  EXPECT_EQ(PollAt(), 3'000);
  EXPECT_EQ(schedule_->grace_ns(), 2'500 * kMs);
  EXPECT_THAT(Poll(3'000), ElementsAre("x"));
}

TEST_F(PollScheduleTest, ServerThatIsAskedNothingIsVisitedSeldom) {
  Make({});
  EXPECT_THAT(Poll(0), IsEmpty());
  EXPECT_EQ(PollAt(), 10'000);
}

TEST_F(PollScheduleTest, NewPlanIsDueAtOnce) {
  Make({Query("a")});
  Poll(0);
  schedule_->Replan({}, {Query("b")}, kStart + 10 * kMs);
  EXPECT_EQ(Next(10).step, Step::kPoll);
  EXPECT_THAT(Poll(10), ElementsAre("b"));
}

TEST_F(PollScheduleTest, PollOfAnOldPlanIsDroppedAndTheNewOneFollowsAtOnce) {
  Make({Query("a")});
  const PollSchedule::Poll old = schedule_->BeginPoll(kStart);
  schedule_->Replan({}, {Query("b")}, kStart + kMs);
  EXPECT_FALSE(schedule_->EndPoll(old, Result::kOk, kStart, kStart + 2 * kMs));
  EXPECT_EQ(Next(2).step, Step::kPoll);
}

TEST_F(PollScheduleTest, NewPlanDoesNotCutTheBackoffShort) {
  Make({Query("a")});
  for (int i = 0; i < 5; ++i) Poll(0, 0, Result::kFailed);
  schedule_->Replan({}, {Query("b")}, kStart + kMs);
  EXPECT_GE(PollAt(), 2'500);
}

TEST_F(PollScheduleTest, WorkIsSampledAfterTheFirstPollAndThenWhenItIsWanted) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  EXPECT_EQ(Next(0).step, Step::kPoll);
  Poll(0);
  EXPECT_EQ(Next(3).step, Step::kWork);
  schedule_->WantWork(schedule_->plan(), kStart + 53 * kMs);
  EXPECT_EQ(Next(3).at_ns, kStart + 53 * kMs);
  EXPECT_EQ(Next(53).step, Step::kWork);
}

TEST_F(PollScheduleTest, PollThatIsDueComesBeforeWork) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  Poll(0);
  schedule_->WantWork(schedule_->plan(), kStart + 400 * kMs);
  EXPECT_EQ(Next(500).step, Step::kPoll);
}

TEST_F(PollScheduleTest, WorkThatIsNotWantedWaitsForTheNextWaking) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  Poll(60'000);
  schedule_->WantWork(schedule_->plan(), PollSchedule::kNever);
  EXPECT_EQ(Next(69'000).at_ns, kStart + 70'000 * kMs);
  Demand(69'000);
  Poll(69'000);
  EXPECT_EQ(Next(69'003).step, Step::kWork);
}

TEST_F(PollScheduleTest, WhatWasSaidOfTheWorkOfAnOlderPlanIsNotHeard) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  Poll(0);
  const uint64_t old = schedule_->plan();
  schedule_->Replan({}, {Query("b")}, kStart + kMs);
  Poll(1);
  schedule_->WantWork(old, PollSchedule::kNever);
  EXPECT_EQ(Next(4).step, Step::kWork);
}

TEST_F(PollScheduleTest, WorkIsNotSampledWhileIdle) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  Poll(60'000);
  EXPECT_EQ(Next(61'000).step, Step::kWait);
}

TEST_F(PollScheduleTest, WorkIsNotSampledBetweenAFailureAndTheNextGoodPoll) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  Poll(0, 0, Result::kFailed);
  EXPECT_EQ(Next(1).step, Step::kWait);
  Poll(500);
  EXPECT_EQ(Next(503).step, Step::kWork);
}

TEST_F(PollScheduleTest, BrokenConnectionIsLookedIntoByAPollAtOnce) {
  Make({Query("a")}, Samples::kSignalsAndWork);
  Poll(0);
  schedule_->WorkFailed(kStart + 10 * kMs);
  schedule_->WantWork(schedule_->plan(), kStart + 11 * kMs);
  EXPECT_EQ(Next(10).step, Step::kPoll);
  Poll(10, 0, Result::kFailed);
  EXPECT_EQ(Next(12).step, Step::kWait);
}

TEST_F(PollScheduleTest, WorkOfAServerThatIsNotSampledIsNeverDue) {
  Make({Query("a")});
  Poll(60'000);
  Demand(69'000);
  Poll(69'000);
  EXPECT_EQ(Next(69'003).step, Step::kWait);
}

}  // namespace
}  // namespace headgate::health
