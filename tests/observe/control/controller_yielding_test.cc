// The controller where sessions of batch work yield, step by step, with numbers by hand. How well
// it does is in yielding_simulation_test.cc.

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "server/observe/control/controller.h"
#include "tests/observe/control/obeyed_database.h"

namespace headgate::control {
namespace {

TEST(ControllerYielding, BeginsWithOneSessionAtOnce) {
  Controller controller({});
  Database database(1000);
  database.each_ = 0.5;
  (void)controller.SetYields(true);
  const ControlSetting setting = database.Obey(controller);
  EXPECT_TRUE(setting.yields);
  EXPECT_NEAR(setting.rate, 1, 0.05);
  EXPECT_EQ(setting.phase, ControlPhase::kPause);
}

TEST(ControllerYielding, ChunksAreLongAndOnlySoManySessionsRunAtOnce) {
  Controller controller({});
  Database database(1000);
  database.each_ = 0.02;  // a limit of 2.5 sessions
  (void)controller.SetYields(true);
  (void)database.ObeyFor(controller, 60);
  const ControlSetting setting = database.ObeyUntilLeft(controller, ControlPhase::kPause);
  ASSERT_EQ(setting.phase, ControlPhase::kWork);
  EXPECT_EQ(setting.chunk, 0.075);
  EXPECT_EQ(setting.start_level, 0.0375);
  EXPECT_EQ(setting.most_sessions, std::ceil(setting.rate));
}

// What is waited for where so few are borne is likely to be locks.
TEST(ControllerYielding, ChunksAreShorterWhereFewSessionsAreBorne) {
  Controller controller({});
  Database database(1000);
  database.each_ = 0.5;  // a limit of 0.1 sessions
  (void)controller.SetYields(true);
  const ControlSetting setting = database.ObeyFor(controller, 120);
  EXPECT_NEAR(setting.chunk, 0.375 * setting.rate, 1e-9);
  EXPECT_EQ(setting.start_level, setting.chunk / 2);
}

TEST(ControllerYielding, WithoutItAsManyMayRunAsTheRateBears) {
  Controller controller({});
  Database database(1000);
  EXPECT_EQ(database.ObeyFor(controller, 10).most_sessions,
            std::numeric_limits<double>::infinity());
}

// Time in which nobody else wants the processor is not lost to pauses as often.
TEST(ControllerYielding, PausesAreRarer) {
  const auto shut = [](bool yields) {
    Controller controller({});
    Database database(10'000);
    database.each_ = 0.05;
    (void)controller.SetYields(yields);
    (void)database.ObeyFor(controller, 20);
    double shut_for = 0;
    const double from = database.now_;
    while (database.now_ < from + 60) {
      const double before = database.now_;
      const bool was_shut = database.setting_.shut;
      (void)database.Obey(controller);
      shut_for += was_shut ? database.now_ - before : 0;
    }
    return shut_for / (database.now_ - from);
  };
  EXPECT_NEAR(shut(true) / shut(false), 0.6, 0.15);
}

TEST(ControllerYielding, FindsHowManySessionsAreBorne) {
  for (const double limit : {0.3, 1.0, 3.0}) {
    Controller controller({.max_rate = 8});
    Database database(10'000);
    database.each_ = 0.05 / limit;
    (void)controller.SetYields(true);
    const ControlSetting setting = database.ObeyFor(controller, 180);
    // Less than one session is held back by what is all but certain, which is a little more.
    EXPECT_LT(setting.rate, (limit < 1 ? 1.25 : 1.15) * limit) << limit;
    EXPECT_GT(setting.rate, 0.55 * limit) << limit;
  }
}

// Of so few transactions next to nothing follows, and of a part of a session nothing at all.
TEST(ControllerYielding, OneRunsUntilItIsAllButCertainThatItHarms) {
  for (const double alone : {10'000.0, 30.0}) {
    Controller controller({});
    Database database(alone);
    database.each_ = 0.1;  // a limit of half a session
    (void)controller.SetYields(true);
    const ControlSetting setting = database.ObeyFor(controller, 180);
    EXPECT_NEAR(setting.rate, alone > 1000 ? 0.5 : 1, 0.15) << alone;
  }
}

TEST(ControllerYielding, WhatGoesUnusedDrainsFaster) {
  Controller controller({});
  Database database(10'000);
  database.used_share_ = 0.7;
  (void)controller.SetYields(true);
  (void)database.ObeyFor(controller, 60);
  const ControlSetting setting = database.ObeyUntilLeft(controller, ControlPhase::kPause);
  ASSERT_EQ(setting.phase, ControlPhase::kWork);
  EXPECT_NEAR(setting.drain / setting.rate, 1 / 0.7, 0.05);
}

// Two clients of a limit of 2 sessions, or of 0.1 busy seconds a second where they do not yield.
class SwitchedController : public testing::Test {
 protected:
  ControlSetting RunFor(bool yields, double seconds) {
    (void)controller_.SetYields(yields);
    database_.each_ = yields ? 0.025 : 0.5;
    return database_.ObeyFor(controller_, seconds);
  }

  Controller controller_{{.max_rate = 4}};
  Database database_{10'000};
};

TEST_F(SwitchedController, WhereNothingYieldsAnyMoreItFallsAtOnce) {
  const double without = RunFor(false, 120).rate;
  EXPECT_GT(RunFor(true, 120).rate, 1);
  const ControlSetting setting = controller_.SetYields(false);
  EXPECT_FALSE(setting.yields);
  EXPECT_TRUE(setting.shut);
  EXPECT_LT(setting.rate, 1.3 * without);
  EXPECT_GT(setting.rate, 0.5 * without);
  EXPECT_LT(setting.chunk, 0.01);
  EXPECT_EQ(setting.most_sessions, std::numeric_limits<double>::infinity());
}

TEST_F(SwitchedController, WhatIsOwedForSessionsThatYieldedDrainsInThePause) {
  (void)RunFor(true, 120);
  const ControlSetting setting = controller_.SetYields(false);
  EXPECT_EQ(setting.phase, ControlPhase::kPause);
  EXPECT_GT(setting.drain, 10 * setting.rate);
}

TEST_F(SwitchedController, WhatWasNeverLearntWithoutBeginsWithThePrior) {
  (void)RunFor(true, 120);
  EXPECT_LE(controller_.SetYields(false).rate, 0.08);
}

// Harm that had to do with what batch work does is not gone because it yields no more.
TEST_F(SwitchedController, ItNeverRisesWhenNothingYieldsAnyMore) {
  const double without = RunFor(false, 120).rate;
  (void)controller_.SetYields(true);
  database_.each_ = 4;
  const double with = database_.ObeyFor(controller_, 120).rate;
  EXPECT_NEAR(with, 0.1, 1e-9);
  EXPECT_GT(without, 0.06);
  const double now = controller_.SetYields(false).rate;
  EXPECT_LE(now, std::min(with, 1.3 * without));
}

TEST_F(SwitchedController, WhatWasLearntWithAndWithoutIsKeptApart) {
  const double without = RunFor(false, 120).rate;
  const double with = RunFor(true, 120).rate;
  EXPECT_GT(with, 8 * without);
  EXPECT_NEAR(RunFor(false, 5).rate / without, 1, 0.35);
  EXPECT_NEAR(controller_.SetYields(true).rate / with, 1, 0.25);
}

TEST_F(SwitchedController, SayingItAgainChangesNothing) {
  (void)RunFor(true, 60);
  const ControlSetting before = database_.setting_;
  const ControlSetting after = controller_.SetYields(true);
  EXPECT_EQ(after.rate, before.rate);
  EXPECT_EQ(after.phase, before.phase);
}

TEST_F(SwitchedController, BothGoToTheNextController) {
  const double without = RunFor(false, 120).rate;
  const double with = RunFor(true, 120).rate;
  const LearntControl learnt = controller_.Learnt();
  ASSERT_TRUE(learnt.yielding.has_value());
  for (const bool yields_at_first : {false, true}) {
    Controller next({.max_rate = 4});
    (void)next.SetYields(yields_at_first);
    next.Restore(learnt, 0);
    EXPECT_NEAR(next.SetYields(true).rate / with, 1, 0.2) << yields_at_first;
    EXPECT_LE(next.SetYields(false).rate, 1.3 * without) << yields_at_first;
  }
}

TEST_F(SwitchedController, WhatWasNeverLearntWithItIsNotWritten) {
  (void)RunFor(false, 60);
  EXPECT_FALSE(controller_.Learnt().yielding.has_value());
  (void)controller_.SetYields(true);
  EXPECT_TRUE(controller_.Learnt().yielding.has_value());
}

TEST_F(SwitchedController, TheOneThatDoesNotCountIsBlurredByTimeAsWell) {
  (void)RunFor(true, 120);
  (void)RunFor(false, 3600);
  EXPECT_NEAR(controller_.SetYields(true).rate, 1, 0.35);
}

// Half a core is left to it where sessions do not yield.
TEST(ControllerYielding, NoCoreIsKeptForAForegroundOfFewTransactions) {
  Controller controller({.cores = 1, .max_rate = 4});
  Database database(5);
  (void)controller.SetYields(true);
  EXPECT_GT(database.ObeyFor(controller, 60).rate, 0.9);
}

}  // namespace
}  // namespace headgate::control
