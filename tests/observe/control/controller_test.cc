// The controller step by step, with numbers by hand. How well it does is in
// simulation_test.cc.

#include "server/observe/control/controller.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"
#include "tests/observe/control/obeyed_database.h"

namespace headgate::control {
namespace {

TEST(Controller, BeginsByMeasuringTheForegroundAlone) {
  Controller controller({});
  Database database(1000);
  const ControlSetting setting = database.Obey(controller);
  EXPECT_EQ(setting.phase, ControlPhase::kPause);
  EXPECT_TRUE(setting.shut);
  EXPECT_GT(setting.next, absl::Milliseconds(100));
}

TEST(Controller, OpensAfterAShortPause) {
  Controller controller({});
  Database database(1000);
  (void)database.Obey(controller);
  const ControlSetting setting = database.ObeyUntilLeft(controller, ControlPhase::kPause);
  EXPECT_EQ(setting.phase, ControlPhase::kWork);
  EXPECT_FALSE(setting.shut);
  EXPECT_NEAR(database.now_, 1.5, 0.3);
}

TEST(Controller, ChunksStartOneByOneBesideAForegroundAndAtRest) {
  Controller controller({});
  Database database(1000);
  database.each_ = 0.5;
  database.asks_ = false;
  EXPECT_LT(database.ObeyFor(controller, 5).start_level, 0.0075);
  database.asks_ = true;
  EXPECT_LT(database.ObeyFor(controller, 20).start_level, 0.0075);
  database.alone_ = 0;
  EXPECT_GT(database.ObeyFor(controller, 10).start_level, 1);
}

TEST(Controller, WorkIsEvenAndComesToTheRatePausesIncluded) {
  Controller controller({});
  Database database(10'000);
  database.each_ = 0.5;  // a limit of 0.1
  (void)database.ObeyFor(controller, 60);
  double drained = 0, found = 0, most = 0, seconds = 0, shut = 0;
  while (seconds < 60) {
    const ControlSetting before = database.setting_;
    const double next = absl::ToDoubleSeconds(before.next);
    (void)database.Obey(controller);
    drained += before.drain * next;
    found += before.rate * next;
    shut += before.shut ? next : 0;
    most = std::max(most, before.drain);
    seconds += next;
  }
  EXPECT_NEAR(drained / found, 1, 0.1);
  EXPECT_LT(most, 1.6 * found / seconds);
  EXPECT_LT(shut / seconds, 0.25);
}

TEST(Controller, FindsTheLimitAndStaysJustInside) {
  for (const double each : {0.1, 0.5, 1.5}) {
    Controller controller({});
    Database database(10'000);
    database.each_ = each;
    const double limit = 0.05 / each;
    const ControlSetting setting = database.ObeyFor(controller, 90);
    EXPECT_LT(setting.rate, 1.1 * limit) << each;
    EXPECT_GT(setting.rate, 0.6 * limit) << each;
    EXPECT_NEAR(setting.alone, 10'000, 200) << each;
    EXPECT_NEAR(setting.with_batch / setting.alone, 1 - each * setting.rate, 0.03) << each;
    const HarmView& lost = setting.harms[static_cast<size_t>(Harm::kThroughput)];
    EXPECT_TRUE(lost.known) << each;
    EXPECT_NEAR(lost.expected, each * setting.rate, 0.015) << each;
    EXPECT_EQ(setting.binding, Harm::kThroughput) << each;
  }
}

TEST(Controller, IsRaisedOnlyWhileWorkWaitsForIt) {
  Controller controller({});
  Database database(10'000);
  database.takes_most_ = 0.05;
  const ControlSetting setting = database.ObeyFor(controller, 120);
  EXPECT_FALSE(setting.held_back);
  EXPECT_LT(setting.rate, 0.25);
  database.takes_most_ = 4;
  EXPECT_GT(database.ObeyFor(controller, 60).rate, 0.5);
  EXPECT_TRUE(database.setting_.held_back);
}

TEST(Controller, HarmBeyondDoubtEndsTheWorkAtOnce) {
  Controller controller({});
  Database database(10'000);
  (void)database.ObeyFor(controller, 20);  // nothing was felt
  (void)database.ObeyUntilLeft(controller, ControlPhase::kWork);
  (void)database.ObeyUntilLeft(controller, ControlPhase::kPause);
  database.each_ = 1;
  const double from = database.now_, before = database.setting_.rate;
  EXPECT_EQ(database.ObeyUntilLeft(controller, ControlPhase::kWork).phase, ControlPhase::kPause);
  EXPECT_LT(database.now_ - from, 1.6);
  EXPECT_LT(database.ObeyUntilLeft(controller, ControlPhase::kPause).rate, 0.6 * before);
}

TEST(Controller, ALimitOnLatencyBindsWhereThroughputDoesNotFall) {
  Controller controller({});
  Database database(1000);
  database.slower_each_ = 1;  // sessions grow: 0.1 of work makes each transaction 10 % longer
  const ControlSetting setting = database.ObeyFor(controller, 240);
  EXPECT_EQ(setting.binding, Harm::kLatency);
  EXPECT_LT(setting.rate, 0.2);
  EXPECT_GT(setting.rate, 0.04);
}

TEST(Controller, ChunksAreToBeShortBesideAForegroundAndLongerWithoutOne) {
  Controller controller({});
  Database database(1000);
  EXPECT_NEAR(database.ObeyFor(controller, 5).chunk, 0.0075, 1e-9);
  database.alone_ = 0;
  EXPECT_NEAR(database.ObeyFor(controller, 5).chunk, 0.07, 1e-9);
}

TEST(Controller, TheFirstChunksAfterARestAreToBeShortToo) {
  Controller controller({});
  Database database(1000);
  database.asks_ = false;
  const ControlSetting setting = database.ObeyFor(controller, 5);
  EXPECT_EQ(setting.phase, ControlPhase::kRest);
  EXPECT_NEAR(setting.chunk, 0.0075, 1e-9);
}

TEST(Controller, AsksForStatementsWhereAPhaseEnds) {
  Controller controller({});
  Database database(1000);
  (void)database.ObeyFor(controller, 10);
  int pairs = 0;
  for (int i = 0; i < 100; ++i) {
    pairs += database.Obey(controller).statements == health::StatementsWish::kNow ? 1 : 0;
  }
  EXPECT_GT(pairs, 3);
}

TEST(Controller, AsksForStatementsAtTheExpectedEndOfWork) {
  Controller controller({});
  Database database(1000);
  database.sample_.work.statements = health::WorkCounters::Statements{};
  for (int i = 0; i < 5; ++i) {
    (void)database.ObeyUntilLeft(controller, ControlPhase::kPause);
    health::StatementsWish wish = {};
    while (database.setting_.phase == ControlPhase::kWork) {
      wish = database.setting_.statements;
      (void)database.Obey(controller);
    }
    EXPECT_EQ(wish, health::StatementsWish::kPair);
  }
}

TEST(Controller, ThePauseBeginsWithTheLastSampleOfWorkWhereNothingIsUnderWay) {
  Controller controller({});
  Database database(1000);
  for (const int64_t under_way : {0, 1}) {
    (void)database.ObeyUntilLeft(controller, ControlPhase::kPause);
    database.stuck_ = under_way;
    const ControlSetting setting = database.ObeyUntilLeft(controller, ControlPhase::kWork);
    EXPECT_EQ(setting.next > absl::Milliseconds(200), under_way == 0);
  }
}

TEST(Controller, WorkDiffersInLengthSoThatNothingFallsIntoStep) {
  Controller controller({.seed = 7});
  Database database(1000);
  database.each_ = 0.5;
  std::set<int> lengths;
  for (int i = 0; i < 12; ++i) {
    (void)database.ObeyUntilLeft(controller, ControlPhase::kPause);
    const double from = database.now_;
    (void)database.ObeyUntilLeft(controller, ControlPhase::kWork);
    lengths.insert(static_cast<int>((database.now_ - from) * 100));
  }
  EXPECT_GE(lengths.size(), 8U);
}

TEST(Controller, AToleranceTwiceAsLargeAllowsTwiceAsMuch) {
  const auto found = [](double tolerance) {
    Controller controller({.tolerance = tolerance});
    Database database(10'000);
    database.each_ = 0.5;
    return database.ObeyFor(controller, 90).rate;
  };
  EXPECT_NEAR(found(0.1) / found(0.05), 2, 0.4);
}

TEST(Controller, AForegroundThatFeelsNothingLetsTheRateGrow) {
  Controller controller({});
  Database database(10'000);
  EXPECT_GT(database.ObeyFor(controller, 20).rate, 0.7);
}

TEST(Controller, TheRateStaysWithinItsBounds) {
  Controller controller({.max_rate = 0.5});
  Database database(1000);
  for (int i = 0; i < 600; ++i) {
    EXPECT_LE(database.Obey(controller).rate, 0.5);
  }
  database.each_ = 1000;
  EXPECT_GE(database.ObeyFor(controller, 30).rate, 0.03);
}

TEST(Controller, WaitsForBatchWorkToEndButNotForEver) {
  Controller controller({});
  Database database(1000);
  database.stuck_ = 3;
  database.sample_.work.batch_active = 3;
  (void)database.Obey(controller);
  EXPECT_EQ(database.ObeyUntilLeft(controller, ControlPhase::kPause).phase, ControlPhase::kWork);
  EXPECT_NEAR(database.now_, 4, 0.8);
}

TEST(Controller, NoForegroundMeansFullSpeedWithinTwoSeconds) {
  Controller controller({.max_rate = 4});
  Database database(0);
  const ControlSetting setting = database.ObeyFor(controller, 2);
  EXPECT_EQ(setting.phase, ControlPhase::kIdle);
  EXPECT_FALSE(setting.shut);
  EXPECT_EQ(setting.rate, 4);
  EXPECT_NEAR(setting.drain, 4, 0.04);
}

TEST(Controller, WithNoForegroundWhatDrainsUnusedIsMadeUpForButNeverMoreThanDoubled) {
  Controller controller({.max_rate = 4});
  Database database(0);
  database.used_share_ = 0.7;
  const ControlSetting setting = database.ObeyFor(controller, 10);
  EXPECT_EQ(setting.rate, 4);
  EXPECT_NEAR(setting.drain * database.used_share_, 4, 0.1);
  database.takes_most_ = 0.5;  // nobody waits for more
  EXPECT_NEAR(database.ObeyFor(controller, 10).drain, 4, 0.1);
  database.takes_most_ = 1000;
  for (const double share : {0.55, 0.4, 0.1}) {
    database.used_share_ = share;
    EXPECT_LE(database.ObeyFor(controller, 10).drain, 8) << share;
  }
}

TEST(Controller, StepsOfWholeChunksAreNotTakenForDrainUnused) {
  for (const double most : {1.0, 4.0}) {
    Controller controller({.max_rate = most});
    Database database(0);
    database.chunk_ = 0.07;
    (void)database.ObeyFor(controller, 10);
    double drained = 0, seconds = 0;
    while (seconds < 60) {
      const double next = absl::ToDoubleSeconds(database.setting_.next);
      drained += database.setting_.drain * next;
      seconds += next;
      (void)database.Obey(controller);
    }
    EXPECT_LT(drained / seconds, 1.05 * most) << most;
  }
}

TEST(Controller, WhatHealthSlowsIsNotMadeUpFor) {
  Controller controller({.max_rate = 4});
  Database database(0);
  database.sample_.speed = 0.7;
  EXPECT_NEAR(database.ObeyFor(controller, 10).drain, 4, 0.1);
}

TEST(Controller, AForegroundThatComesEndsFullSpeedAtOnce) {
  Controller controller({});
  Database database(0);
  (void)database.ObeyFor(controller, 3);
  database.alone_ = 1000;
  const ControlSetting setting = database.Obey(controller);
  EXPECT_EQ(setting.phase, ControlPhase::kPause);
  EXPECT_LE(setting.rate, 0.2);
}

// Else chunks that were begun without a foreground would keep all others waiting for seconds.
TEST(Controller, WhatIsOwedForIdleTimesIsPaidAtTheirPaceInTheFirstPause) {
  Controller controller({.max_rate = 4});
  Database database(0);
  const double idle = database.ObeyFor(controller, 3).drain;
  database.alone_ = 1000;
  ControlSetting setting = database.Obey(controller);
  while (setting.phase == ControlPhase::kPause) {
    EXPECT_TRUE(setting.shut);
    EXPECT_EQ(setting.drain, idle);
    setting = database.Obey(controller);
  }
  EXPECT_LT(setting.drain, 0.2);
  setting = database.ObeyUntilLeft(controller, ControlPhase::kWork);
  EXPECT_EQ(setting.phase, ControlPhase::kPause);
  EXPECT_EQ(setting.drain, 0);
}

TEST(Controller, AlsoWhereItIsNotSeenAtOnceThatTheForegroundIsBusy) {
  Controller controller({.max_rate = 4});
  Database database(0);
  const double idle = database.ObeyFor(controller, 3).drain;
  database.alone_ = 45;  // never caught at work
  ControlSetting setting = database.ObeyUntilLeft(controller, ControlPhase::kIdle);
  EXPECT_EQ(setting.foreground, Foreground::kSparse);
  while (setting.phase == ControlPhase::kPause) {
    EXPECT_EQ(setting.drain, idle);
    setting = database.Obey(controller);
  }
  EXPECT_EQ(setting.foreground, Foreground::kBusy);
}

TEST(Controller, RemembersWhatAForegroundBoreThatComesBack) {
  Controller controller({});
  Database database(10'000);
  database.each_ = 5;  // a limit of 0.01, below what is let through in any case
  const double found = database.ObeyFor(controller, 40).rate;
  database.alone_ = 0;
  (void)database.ObeyFor(controller, 5);
  database.alone_ = 10'000;
  (void)database.ObeyUntilLeft(controller, ControlPhase::kIdle);
  const double again = database.ObeyUntilLeft(controller, ControlPhase::kPause).rate;
  EXPECT_LT(again, 0.06);
  EXPECT_LE(found, 0.03);
}

TEST(Controller, AFewTransactionsASecondAreLeftPartOfACore) {
  Controller controller({.cores = 2, .max_rate = 4});
  Database database(10);
  (void)database.ObeyFor(controller, 3);
  double most = 0;
  for (int i = 0; i < 300; ++i) most = std::max(most, database.Obey(controller).rate);
  EXPECT_LE(most, 1.5);
  EXPECT_GT(most, 0.2);
}

TEST(Controller, WithNobodyAskingItRestsAndIsNotShut) {
  Controller controller({});
  Database database(1000);
  database.asks_ = false;
  const ControlSetting setting = database.ObeyFor(controller, 4);
  EXPECT_EQ(setting.phase, ControlPhase::kRest);
  EXPECT_FALSE(setting.shut);
  EXPECT_LE(setting.rate, 0.2);
  // The foreground alone has been measured meanwhile.
  database.asks_ = true;
  EXPECT_EQ(database.Obey(controller).phase, ControlPhase::kWork);
}

TEST(Controller, ADatabaseThatCannotBeSeenIsNotShutAndSoonAllButStopped) {
  Controller controller({});
  Database database(1000);
  (void)database.Obey(controller);
  const auto after = [&](double seconds) {
    return controller.Miss(static_cast<int64_t>((database.now_ + seconds) * 1e9));
  };
  const ControlSetting first = after(0.5);
  EXPECT_FALSE(first.shut);
  EXPECT_GT(first.rate, 0.05);
  const ControlSetting later = after(3);
  EXPECT_FALSE(later.shut);
  EXPECT_EQ(later.phase, ControlPhase::kBlind);
  EXPECT_EQ(later.rate, 0.02);
  // And begins anew when it is seen again.
  database.now_ += 5;
  EXPECT_EQ(database.Obey(controller).phase, ControlPhase::kPause);
  EXPECT_GT(database.ObeyUntilLeft(controller, ControlPhase::kPause).rate, 0.05);
}

TEST(Controller, CountersThatGoBackwardsBeginAnew) {
  Controller controller({});
  Database database(1000);
  (void)database.Obey(controller);
  (void)database.ObeyUntilLeft(controller, ControlPhase::kPause);
  Database another(10);
  another.now_ = database.now_;
  EXPECT_EQ(another.Obey(controller).phase, ControlPhase::kPause);
}

// One that has found how much a database bears, and another one that goes on `age` seconds later.
class Successor {
 public:
  explicit Successor(double age) {
    database_.each_ = 0.05;  // a limit of 1
    Controller before({});
    found_ = database_.ObeyFor(before, 90).rate;
    learnt_ = before.Learnt();
    controller_.Restore(learnt_, age);
  }
  ControlSetting Obey() { return database_.Obey(controller_); }
  ControlSetting ObeyFor(double seconds) { return database_.ObeyFor(controller_, seconds); }

  double found_ = 0;
  LearntControl learnt_;
  Database database_{10'000};
  Controller controller_{{}};
};

TEST(Controller, AnotherOneGoesOnWithTheRateThatWasFound) {
  Successor successor(/*age=*/0);
  EXPECT_GT(successor.found_, 0.6);
  EXPECT_NEAR(successor.Obey().rate / successor.found_, 1, 0.05);
  for (int i = 0; i < 50; ++i) {
    ASSERT_NEAR(successor.Obey().rate / successor.found_, 1, 0.25) << i;
  }
}

TEST(Controller, WhatWasLearntAWhileAgoIsLessSure) {
  double before = 1e9;
  for (const double age : {0.0, 30.0, 120.0, 600.0}) {
    const double rate = Successor(age).Obey().rate;
    EXPECT_LT(rate, before) << age;
    before = rate;
  }
}

TEST(Controller, WhatWasLearntAnHourAgoIsForgotten) {
  Controller fresh({});
  Database database(10'000);
  const double first = database.Obey(fresh).rate;
  EXPECT_NEAR(Successor(3600).Obey().rate / first, 1, 0.05);
  EXPECT_NEAR(Successor(1e12).Obey().rate / first, 1, 0.05);
}

TEST(Controller, AnotherOneSeesThatTheForegroundIsAnother) {
  Successor successor(/*age=*/0);
  successor.database_ = Database(1'000);
  successor.database_.each_ = 1;  // a limit of 0.05
  EXPECT_LT(successor.ObeyFor(20).rate, 0.2 * successor.found_);
}

// Beside the last owner's batch the foreground did half of what it does alone.
TEST(Controller, WhatTheLastOwnersBatchDidToTheForegroundIsNotTakenForQuiet) {
  Successor successor(/*age=*/0);
  Controller controller({});
  Database& database = successor.database_;
  database.alone_ = 5'000;
  database.asks_ = false;
  (void)database.ObeyFor(controller, 5);
  controller.Restore(successor.learnt_, /*seconds=*/0);
  (void)database.Obey(controller);  // the batch ran until then
  database.alone_ = 10'000;
  database.asks_ = true;
  while (database.setting_.alone == 0 && database.now_ < 200) (void)database.Obey(controller);
  EXPECT_NEAR(database.setting_.alone, 10'000, 100);
}

TEST(Controller, WhatWasTakenUpIsALesson) {
  Successor successor(/*age=*/0);
  EXPECT_EQ(successor.controller_.lessons(), 1U);
}

// Comes where none was, after so many seconds, and is met.
void MeetForeground(Controller& controller, Database& database, double after) {
  database.alone_ = 0;
  (void)database.ObeyFor(controller, after);
  EXPECT_EQ(database.setting_.foreground, Foreground::kNone);
  database.alone_ = 10'000;
  for (int i = 0; i < 20 && database.setting_.foreground == Foreground::kNone; ++i) {
    (void)database.Obey(controller);
  }
  EXPECT_EQ(database.setting_.foreground, Foreground::kBusy);
}

TEST(Controller, ThatTheForegroundMayBeAnotherIsALesson) {
  Controller controller({});
  Database database(10'000);
  (void)database.ObeyFor(controller, 30);
  database.alone_ = 0;
  (void)database.ObeyFor(controller, 5);
  const uint64_t before = controller.lessons();
  EXPECT_GT(before, 0U);
  MeetForeground(controller, database, 5);
  EXPECT_EQ(controller.lessons(), before + 1);
}

TEST(Controller, WhoKnowsNothingLearnsNothingFromMeetingAForeground) {
  Controller controller({});
  Database database(0);
  MeetForeground(controller, database, 5);
  EXPECT_EQ(controller.lessons(), 0U);
}

TEST(Controller, TheSameSamplesGiveTheSameSettings) {
  Controller a({.seed = 3}), b({.seed = 3});
  Database left(1000), right(1000);
  left.each_ = right.each_ = 0.5;
  for (int i = 0; i < 500; ++i) {
    const ControlSetting one = left.Obey(a), other = right.Obey(b);
    ASSERT_EQ(one.drain, other.drain);
    ASSERT_EQ(one.next, other.next);
  }
}

TEST(Controller, ReadersAreNotForgottenWhileTheirStatementsAreReset) {
  Controller controller({.cores = 2, .max_rate = 4});
  Database database(2000);
  database.reads_ = true;
  database.each_ = 0.5;
  const double known = database.ObeyFor(controller, 60).rate;
  EXPECT_LT(known, 0.3);
  database.resets_often_ = true;
  for (int i = 0; i < 60; ++i) {
    const ControlSetting setting = database.ObeyFor(controller, 1);
    ASSERT_NE(setting.phase, ControlPhase::kIdle) << i;
    ASSERT_LT(setting.rate, 2 * known) << i;
  }
}

// 600 statements a second, each of which is new: no session is ever met, and nothing is compared.
TEST(Controller, ReadersWhoseStatementsAreEvictedAreAForeground) {
  Controller controller({.cores = 2, .max_rate = 4});
  Database database(600);
  database.reads_ = database.evicts_ = true;
  database.meets_one_of_ = 1'000'000;
  database.each_ = 0.5;
  (void)database.ObeyFor(controller, 2);
  for (int i = 0; i < 120; ++i) {
    const ControlSetting setting = database.ObeyFor(controller, 1);
    ASSERT_NE(setting.phase, ControlPhase::kIdle) << i;
    ASSERT_LT(setting.rate, 1) << i;
  }
  // What batch work does to them is measured as well: a tenth costs 5 %.
  EXPECT_GT(database.setting_.rate, 0.04);
  EXPECT_LT(database.setting_.rate, 0.2);
  EXPECT_TRUE(database.setting_.harms[static_cast<size_t>(Harm::kThroughput)].known);
}

TEST(Controller, NeverExceedsItsMost) {
  Controller controller({.cores = 2, .max_rate = 0.01});
  Database database(1000);
  for (int i = 0; i < 30; ++i) {
    EXPECT_LE(database.ObeyFor(controller, 1).rate, 0.01);
    database.alone_ = i < 15 ? 1000 : 0;
  }
}

TEST(Controller, AfterATimeInTheDarkItIsTheLeastAtOnce) {
  Controller controller({});
  Database database(1000);
  (void)database.ObeyFor(controller, 20);
  EXPECT_LT(controller.Miss(static_cast<int64_t>((database.now_ + 10) * 1e9)).rate, 0.03);
  database.now_ += 10;
  database.takes_most_ = 0;  // all that was let through is being worked off
  EXPECT_GE(database.ObeyFor(controller, 5).rate, 0.03);
}

TEST(Controller, WhatHealthKeepsOutIsNotForWantOfWork) {
  Controller controller({});
  Database database(1000);
  const double found = database.ObeyFor(controller, 60).rate;
  database.sample_.speed = 0;
  const ControlSetting setting = database.ObeyFor(controller, 60);
  EXPECT_TRUE(setting.held_back);
  EXPECT_GT(setting.rate, 0.5 * found);
}

}  // namespace
}  // namespace headgate::control
