// What a line promises to each who waits in it.
#include "server/decide/line/waiting_lines.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decide/line/line_fixture.h"

namespace headgate::line {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Duration kLong = absl::Minutes(1);

// A bucket "a" of 100 ms that is full.
class WaitingLinesTest : public ::testing::Test {
 protected:
  WaitingLinesTest() {
    world_.limits.AddBucket("a", absl::Milliseconds(100));
    world_.Ask("first:etl", "a", 100, absl::ZeroDuration());
    world_.TakeLog();
  }
  TestLines world_;
};

TEST_F(WaitingLinesTest, AdmitsTheHeadAtItsExactInstant) {
  world_.Ask("job:etl", "a", 30, kLong);
  world_.RunTo(absl::Milliseconds(29));
  EXPECT_THAT(world_.log, IsEmpty());
  EXPECT_EQ(world_.lines.Advance(world_.now()), TestLines::kStartNs + 30 * kMs);
  world_.RunTo(absl::Milliseconds(100));
  EXPECT_THAT(world_.log, ElementsAre(Answered{30, "job:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, AdmitsOneIdentityInTheOrderOfItsArrivals) {
  world_.Ask("job:etl", "a", 30, kLong);
  world_.Ask("job:etl", "a", 10, kLong);
  world_.Ask("job:etl", "a", 20, kLong);
  world_.RunTo(absl::Milliseconds(100));
  EXPECT_THAT(world_.log,
              ElementsAre(Answered{30, "job:etl", "admitted"}, Answered{40, "job:etl", "admitted"},
                          Answered{60, "job:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, LooksAtABlockedHeadOnlyWhenItsInstantComes) {
  world_.Ask("job:etl", "a", 50, kLong);
  world_.RunTo(absl::Milliseconds(49));
  EXPECT_EQ(world_.limits.checks, 1);
  world_.RunTo(absl::Seconds(1));
  EXPECT_EQ(world_.limits.checks, 2);
}

TEST_F(WaitingLinesTest, DeniesAtTheDeadlineExactly) {
  world_.Ask("large:etl", "a", 100, absl::Milliseconds(40));
  world_.RunTo(absl::Milliseconds(200));
  EXPECT_THAT(world_.log, ElementsAre(Answered{40, "large:etl", "denied"}));
  ASSERT_EQ(world_.denials.size(), 1u);
  EXPECT_EQ(world_.denials[0].violations[0].limit, engine::Limit::kBurst);
  EXPECT_EQ(world_.denials[0].retry_after, absl::Milliseconds(60));
}

TEST_F(WaitingLinesTest, ADenialAtTheDeadlineTellsWhenItsTurnWouldHaveBeen) {
  world_.Ask("job:etl", "a", 80, kLong);
  world_.Ask("job:etl", "a", 10, absl::Milliseconds(40));
  world_.RunTo(absl::Milliseconds(50));
  ASSERT_EQ(world_.denials.size(), 1u);
  EXPECT_EQ(world_.denials[0].violations[0].limit, engine::Limit::kLine);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(world_.denials[0].retry_after), 50, 0.001);
}

TEST_F(WaitingLinesTest, ADeadlineAtTheInstantOfItsRoomIsMet) {
  world_.Ask("job:etl", "a", 40, absl::Milliseconds(40));
  world_.RunTo(absl::Milliseconds(50));
  EXPECT_THAT(world_.log, ElementsAre(Answered{40, "job:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, WhoLeavesOwesNothingAndHoldsUpNobody) {
  const uint64_t ticket = world_.Ask("large:etl", "a", 90, kLong);
  world_.Ask("small:etl", "a", 20, kLong);
  world_.RunTo(absl::Milliseconds(10));
  EXPECT_TRUE(world_.Leave(ticket));
  EXPECT_FALSE(world_.Leave(ticket));
  world_.RunTo(absl::Milliseconds(100));
  EXPECT_THAT(world_.log, ElementsAre(Answered{20, "small:etl", "admitted"}));
  EXPECT_EQ(world_.limits.bucket("a").admitted_ns, 120 * kMs);
}

TEST_F(WaitingLinesTest, MemoryIsHeldForWhoWaitsAndForNobodyElse) {
  const uint64_t ticket = world_.Ask("a-long-name-of-a-job:etl", "a", 90, kLong);
  const int64_t of_one = world_.lines.held_bytes();
  EXPECT_GT(of_one, 200);
  world_.Ask("small:etl", "a", 20, kLong);
  EXPECT_LT(world_.lines.held_bytes(), 2 * of_one);
  EXPECT_TRUE(world_.Leave(ticket));
  world_.RunTo(absl::Milliseconds(100));
  // What was counted of their waits, until it is collected.
  world_.lines.CollectWaits(world_.now(), [](const CountedWaits&) {});
  EXPECT_EQ(world_.lines.held_bytes(), 0);
}

TEST_F(WaitingLinesTest, WhoDoesNotWaitDoesNotOvertake) {
  world_.Ask("waits:etl", "a", 90, kLong);
  world_.RunTo(absl::Milliseconds(50));
  world_.Ask("polls:etl", "a", 10, absl::ZeroDuration());
  EXPECT_THAT(world_.TakeLog(), ElementsAre(Answered{50, "polls:etl", "denied"}));
  world_.RunTo(absl::Milliseconds(95));
  EXPECT_THAT(world_.log, ElementsAre(Answered{90, "waits:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, APollerThatComesBackWhenItIsToldFindsItsTurn) {
  for (int i = 0; i < 5; ++i) world_.Ask(absl::StrCat("w", i, ":etl"), "a", 20, kLong);
  world_.RunTo(absl::Milliseconds(1));
  world_.Ask("polls:etl", "a", 20, absl::ZeroDuration());
  const absl::Duration told = world_.last_retry_after;
  EXPECT_NEAR(absl::ToDoubleMilliseconds(told), 119, 0.001);
  EXPECT_EQ(world_.lines.ReadStats(world_.now()).places, 1u);
  // Many more come in the meantime, and it is late by a fifth.
  for (int i = 0; i < 20; ++i) world_.Ask(absl::StrCat("v", i, ":etl"), "a", 20, kLong);
  world_.RunTo(absl::Milliseconds(1) + told * 1.2);
  world_.TakeLog();
  world_.Ask("polls:etl", "a", 20, absl::ZeroDuration());
  EXPECT_THAT(world_.log, ElementsAre(Answered{143, "polls:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, APlaceThatNobodyComesBackForIsDropped) {
  world_.Ask("waits:etl", "a", 20, kLong);
  world_.RunTo(absl::Milliseconds(1));
  world_.Ask("polls:etl", "a", 50, absl::ZeroDuration());
  world_.RunTo(absl::Milliseconds(20));
  world_.Ask("waits:etl", "a", 100, kLong);
  world_.RunTo(absl::Seconds(2));
  // The place has its turn at 70 ms; until 170 ms half of the burst is held.
  EXPECT_THAT(world_.log,
              ElementsAre(Answered{1, "polls:etl", "denied"}, Answered{20, "waits:etl", "admitted"},
                          Answered{170, "waits:etl", "admitted"}));
  EXPECT_EQ(world_.lines.ReadStats(world_.now()).places, 0u);
}

// As budgets with `rate: auto` are kept beside a foreground.
TEST_F(WaitingLinesTest, WhereChunksStartOneByOneNobodyIsEarlyAfterAPause) {
  world_.limits.bucket("a").start_level_ns = 5 * kMs;
  for (int i = 0; i < 4; ++i) world_.Ask(absl::StrCat("w", i, ":etl"), "a", 10, kLong);
  world_.RunTo(absl::Seconds(1));
  EXPECT_THAT(
      world_.TakeLog(),
      ElementsAre(Answered{95, "w0:etl", "admitted"}, Answered{105, "w1:etl", "admitted"},
                  Answered{115, "w2:etl", "admitted"}, Answered{125, "w3:etl", "admitted"}));
  // In between all has drained.
  for (int i = 0; i < 3; ++i) world_.Ask(absl::StrCat("w", i, ":etl"), "a", 10, kLong);
  world_.RunTo(absl::Seconds(2));
  EXPECT_THAT(world_.log, ElementsAre(Answered{1000, "w0:etl", "admitted"},
                                      Answered{1005, "w1:etl", "admitted"},
                                      Answered{1015, "w2:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, WhereChunksStartOneByOneAPollerIsToldItsTurn) {
  world_.limits.bucket("a").start_level_ns = 5 * kMs;
  for (int i = 0; i < 3; ++i) world_.Ask(absl::StrCat("w", i, ":etl"), "a", 10, kLong);
  world_.RunTo(absl::Milliseconds(1));
  // Behind three of 10 ms, of whom the first has its turn at 95 ms.
  world_.Ask("polls:etl", "a", 40, absl::ZeroDuration());
  EXPECT_NEAR(absl::ToDoubleMilliseconds(world_.last_retry_after), 124, 0.001);
  world_.RunTo(absl::Milliseconds(126));
  world_.TakeLog();
  world_.Ask("polls:etl", "a", 40, absl::ZeroDuration());
  EXPECT_THAT(world_.log, ElementsAre(Answered{126, "polls:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, WhereChunksStartOneByOneAPlaceDoesNotShutOthersOut) {
  world_.limits.bucket("a").start_level_ns = 5 * kMs;
  world_.Ask("waits:etl", "a", 20, kLong);
  world_.RunTo(absl::Milliseconds(1));
  world_.Ask("polls:etl", "a", 50, absl::ZeroDuration());
  world_.RunTo(absl::Milliseconds(95));
  world_.Ask("waits:etl", "a", 20, kLong);
  world_.RunTo(absl::Milliseconds(130));
  // The place has its turn at 115 ms and holds half of the level: the next comes in at 117.5.
  EXPECT_THAT(world_.log,
              ElementsAre(Answered{1, "polls:etl", "denied"}, Answered{95, "waits:etl", "admitted"},
                          Answered{117, "waits:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, AFullLineRefuses) {
  TestLines world({.max_waiting = 2, .max_waiting_share = 1});
  world.limits.AddBucket("a", absl::Milliseconds(10));
  world.Ask("job:etl", "a", 10, kLong);
  world.Ask("job:etl", "a", 10, kLong);
  world.Ask("job:etl", "a", 10, kLong);
  EXPECT_EQ(world.entered, Entered::kWaits);
  world.Ask("job:etl", "a", 10, kLong);
  EXPECT_EQ(world.entered, Entered::kFull);
  EXPECT_EQ(world.lines.ReadStats(world.now()).refused_full, 1u);
}

TEST_F(WaitingLinesTest, OneCallerMayOnlyHaveItsShare) {
  TestLines world({.max_waiting = 4, .max_waiting_share = 0.5});
  world.limits.AddBucket("a", absl::Milliseconds(10));
  world.Ask("job:etl", "a", 10, kLong, "airflow");
  world.Ask("job:etl", "a", 10, kLong, "airflow");
  world.Ask("other:dwh", "a", 10, kLong, "airflow");
  world.Ask("third:x", "a", 10, kLong, "airflow");
  EXPECT_EQ(world.entered, Entered::kCallerFull);
  world.Ask("job:etl", "a", 10, kLong, "dbt");
  EXPECT_EQ(world.entered, Entered::kWaits);
  // Where nobody is named, the root of the identity counts.
  world.Ask("job:etl", "a", 10, kLong);
  EXPECT_EQ(world.entered, Entered::kWaits);
}

TEST_F(WaitingLinesTest, AThirdCallerFindsRoomWhereTwoTakeAllTheyMay) {
  TestLines world({.max_waiting = 128, .max_waiting_share = 0.5});
  world.limits.AddBucket("a", absl::Milliseconds(10));
  world.Ask("job:full", "a", 10, kLong);
  const auto ask = [&](const std::string& caller) {
    world.Ask("job:etl", "a", 10, kLong, caller);
    return world.entered;
  };
  for (int i = 0; i < 64; ++i) EXPECT_EQ(ask("first"), Entered::kWaits);
  EXPECT_EQ(ask("first"), Entered::kCallerFull);
  // All but the last eighth.
  for (int i = 0; i < 48; ++i) EXPECT_EQ(ask("second"), Entered::kWaits);
  EXPECT_EQ(ask("second"), Entered::kFull);
  // An eighth of that for each of the others.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("third"), Entered::kWaits);
  EXPECT_EQ(ask("third"), Entered::kFull);
  for (int i = 0; i < 14; ++i) EXPECT_EQ(ask(absl::StrCat("more-", i)), Entered::kWaits);
  EXPECT_EQ(ask("last"), Entered::kFull);
  EXPECT_EQ(world.lines.ReadStats(world.now()).waiting, 128u);
}

TEST_F(WaitingLinesTest, ADenialForWantOfRoomSaysHowManyWait) {
  TestLines world({.max_waiting = 16, .max_waiting_share = 0.5});
  world.limits.AddBucket("a", absl::Milliseconds(10));
  // The first one is admitted.
  for (int i = 0; i < 16; ++i) world.Ask(absl::StrCat("job:r", i % 2), "a", 10, kLong);
  ASSERT_EQ(world.entered, Entered::kFull);
  engine::CheckAnswer denial;
  world.lines.ExplainRefusal(world.entered, denial);
  EXPECT_EQ(denial.reason, engine::Reason::kLineFull);
  EXPECT_EQ(denial.violations.back().observed, 14);
  EXPECT_EQ(denial.violations.back().limit_value, 16);
  denial.Clear();
  world.lines.RefuseUnparked(3, denial);
  EXPECT_EQ(denial.violations.back().observed, 3);
  EXPECT_EQ(denial.violations.back().limit_value, 3);
  EXPECT_EQ(world.lines.ReadStats(world.now()).refused_full, 2u);
}

TEST_F(WaitingLinesTest, WhatTimeDoesNotCureIsNotWaitedFor) {
  world_.Ask("job:etl", "a", 101, kLong);
  EXPECT_EQ(world_.entered, Entered::kNotCurable);
}

TEST_F(WaitingLinesTest, WhatStopsBeingCurableIsAnsweredAtOnce) {
  world_.Ask("job:etl", "a", 50, kLong);
  world_.RunTo(absl::Milliseconds(10));
  world_.limits.SetDenied(true);
  world_.lines.Changed();
  world_.RunTo(absl::Milliseconds(20));
  EXPECT_THAT(world_.log, ElementsAre(Answered{10, "job:etl", "denied"}));
}

TEST_F(WaitingLinesTest, CloseAnswersAllAtOnceAndNobodyEntersAfterIt) {
  for (int i = 0; i < 3; ++i) world_.Ask(absl::StrCat("w", i, ":etl"), "a", 20, kLong);
  world_.lines.Close(absl::UnavailableError("stops"), world_.now());
  EXPECT_THAT(world_.log, ElementsAre(Answered{0, "w0:etl", "UNAVAILABLE"},
                                      Answered{0, "w1:etl", "UNAVAILABLE"},
                                      Answered{0, "w2:etl", "UNAVAILABLE"}));
  world_.Ask("late:etl", "a", 20, kLong);
  EXPECT_EQ(world_.entered, Entered::kClosed);
}

TEST_F(WaitingLinesTest, AWithdrawnRightEndsTheWait) {
  world_.Ask("job:etl", "a", 50, kLong);
  world_.RunTo(absl::Milliseconds(10));
  world_.may_wait = false;
  world_.lines.AskAgain();
  EXPECT_EQ(world_.wakes, 2);  // by its arrival, and by this
  world_.RunTo(absl::Milliseconds(20));
  EXPECT_THAT(world_.log, ElementsAre(Answered{10, "job:etl", "PERMISSION_DENIED"}));
}

TEST_F(WaitingLinesTest, AGateThatOpensAdmitsInFairOrder) {
  world_.limits.SetShut(true);
  world_.limits.AddBucket("b", absl::Milliseconds(45));
  for (int i = 0; i < 4; ++i) world_.Ask("many:etl", "b", 10, kLong);
  world_.Ask("one:dwh", "b", 10, kLong);
  world_.RunTo(absl::Milliseconds(50));
  EXPECT_THAT(world_.log, IsEmpty());
  world_.limits.SetShut(false);
  world_.lines.Changed();
  world_.RunTo(absl::Milliseconds(100));
  EXPECT_THAT(
      world_.log,
      ElementsAre(Answered{50, "many:etl", "admitted"}, Answered{50, "one:dwh", "admitted"},
                  Answered{50, "many:etl", "admitted"}, Answered{50, "many:etl", "admitted"},
                  Answered{55, "many:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, AShutGateIsAskedAboutByOneAndNotByAll) {
  world_.limits.SetShut(true);
  for (int i = 0; i < 100; ++i) world_.Ask(absl::StrCat("w", i, ":etl"), "a", 1, kLong);
  world_.RunTo(absl::Seconds(10));
  EXPECT_LE(world_.limits.checks, 12);
}

TEST_F(WaitingLinesTest, AChangeIsWorkedOffInBites) {
  world_.limits.SetShut(true);
  for (int i = 0; i < 200; ++i) world_.Ask(absl::StrCat("w", i, ":etl"), "a", 1, kLong);
  world_.RunTo(absl::Milliseconds(10));
  world_.limits.checks = 0;
  world_.lines.Changed();
  EXPECT_EQ(world_.lines.Advance(world_.now()), world_.now_ns);
  EXPECT_LE(world_.limits.checks, 64);
  world_.RunTo(absl::Milliseconds(11));
  EXPECT_NEAR(static_cast<double>(world_.limits.checks), 201, 1);
}

TEST_F(WaitingLinesTest, APermitThatIsGivenBackAdmitsTheNextAtOnce) {
  world_.limits.AddBucket("slots", absl::ZeroDuration(), 1);
  world_.Ask("a:etl", "slots", 1, kLong);
  world_.Ask("b:etl", "slots", 1, kLong);
  world_.Ask("c:etl", "slots", 1, kLong);
  world_.RunTo(absl::Milliseconds(33));
  world_.TakeLog();
  world_.limits.GiveBack("slots");
  world_.RunTo(absl::Milliseconds(57));
  world_.limits.GiveBack("slots");
  world_.RunTo(absl::Milliseconds(60));
  EXPECT_THAT(world_.log,
              ElementsAre(Answered{33, "b:etl", "admitted"}, Answered{57, "c:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, AHeadThatAnotherBucketRefusesHoldsUpNobody) {
  world_.limits.AddBucket("b", absl::Milliseconds(100));
  world_.Ask("first:etl", "b", 100, absl::ZeroDuration());
  world_.RunTo(absl::Milliseconds(60));
  world_.Ask("other:etl", "a", 60, absl::ZeroDuration());  // a is full again
  world_.TakeLog();
  world_.Ask("both:etl", "a b", 30, kLong);
  world_.Ask("only-a:etl", "a", 30, kLong);
  world_.Ask("b-first:etl", "b", 100, kLong);
  world_.RunTo(absl::Milliseconds(300));
  // At 90 ms a has room for `both`, and b has others before it: it moves there, where it came
  // first.
  EXPECT_THAT(world_.log, ElementsAre(Answered{90, "both:etl", "admitted"},
                                      Answered{120, "only-a:etl", "admitted"},
                                      Answered{130, "b-first:etl", "admitted"}));
}

TEST_F(WaitingLinesTest, ALineIsForgottenTenSecondsAfterItsLast) {
  world_.Ask("job:etl", "a", 30, kLong);
  world_.RunTo(absl::Seconds(10));
  EXPECT_EQ(world_.lines.ReadStats(world_.now()).lines, 1u);
  EXPECT_TRUE(world_.lines.IsAnybodyHere());
  world_.RunTo(absl::Milliseconds(10'031));
  EXPECT_EQ(world_.lines.ReadStats(world_.now()).lines, 0u);
  EXPECT_FALSE(world_.lines.IsAnybodyHere());
}

TEST_F(WaitingLinesTest, ShowsWhoIsNextAndWhenTheirTurnIsExpected) {
  world_.Ask("x:etl", "a", 30, kLong, "airflow");
  world_.Ask("x:etl", "a", 40, kLong);
  world_.RunTo(absl::Milliseconds(10));
  const std::vector<LineView> views =
      world_.lines.ReadLines({.most_lines = 10, .most_waiting = 10}, world_.now()).lines;
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].waiting, 2u);
  EXPECT_EQ(views[0].oldest, absl::Milliseconds(10));
  EXPECT_EQ(views[0].next, absl::Milliseconds(20));
  ASSERT_EQ(views[0].first.size(), 2u);
  EXPECT_EQ(views[0].first[0].caller, "airflow");
  EXPECT_EQ(views[0].first[1].identity, "x:etl");
  EXPECT_EQ(views[0].first[1].position, 2u);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(views[0].first[1].expected), 60, 0.001);
}

TEST_F(WaitingLinesTest, KnowsForWhichTargetSomebodyWaits) {
  world_.target = "orders";
  EXPECT_FALSE(world_.lines.AnybodyWaitsFor("orders"));
  world_.Ask("job:etl", "a", 90, kLong);
  const uint64_t second = world_.Ask("job:etl", "a", 90, kLong);
  const uint64_t third = world_.Ask("job:etl", "a", 90, kLong);
  EXPECT_TRUE(world_.lines.AnybodyWaitsFor("orders"));
  EXPECT_FALSE(world_.lines.AnybodyWaitsFor("users"));
  EXPECT_TRUE(world_.Leave(second));
  EXPECT_TRUE(world_.lines.AnybodyWaitsFor("orders"));
  EXPECT_TRUE(world_.Leave(third));
  world_.RunTo(absl::Seconds(1));  // the first is admitted
  EXPECT_FALSE(world_.lines.AnybodyWaitsFor("orders"));
}

TEST_F(WaitingLinesTest, WhoNamesNoTargetWaitsForTheOnlyOne) {
  world_.Ask("job:etl", "a", 90, kLong);
  world_.Ask("job:etl", "a", 90, kLong);
  EXPECT_TRUE(world_.lines.AnybodyWaitsFor("orders"));
}

TEST_F(WaitingLinesTest, WakesWhoeverSleepsWhenSomethingIsDueEarlier) {
  world_.RunTo(absl::Milliseconds(1));
  world_.Ask("job:etl", "a", 80, kLong);
  EXPECT_EQ(world_.wakes, 1);
  world_.RunTo(absl::Milliseconds(2));
  world_.Ask("job:etl", "a", 10, kLong);  // behind it
  EXPECT_EQ(world_.wakes, 1);
  world_.lines.RoomFreed(world_.limits.bucket("a").key);
  EXPECT_EQ(world_.wakes, 2);
}

}  // namespace
}  // namespace headgate::line
