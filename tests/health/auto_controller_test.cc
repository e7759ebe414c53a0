// The controller, step by step, with numbers by hand.

#include "server/health/auto_controller.h"

#include <set>

#include "gtest/gtest.h"

namespace headgate::health {
namespace {

// Samples of a database whose foreground does so many transactions a second.
class Database {
 public:
  explicit Database(double throughput) : throughput_(throughput) {}

  ControlSample After(double seconds) {
    now_ += seconds;
    done_ += throughput_ * seconds;
    checks_ += asked_ ? 1 : 0;
    ControlSample sample;
    sample.work.sampled_at_ns = static_cast<int64_t>(now_ * 1e9);
    sample.work.next_xid = 1000 + static_cast<int64_t>(done_ + batch_done_);
    sample.work.foreground_active = throughput_ > 0 ? 4 : 0;
    sample.work.batch_active = batch_active_;
    sample.checks = checks_;
    sample.transactions = static_cast<uint64_t>(batch_done_);
    sample.outstanding = outstanding_;
    return sample;
  }

  double throughput_;
  double batch_active_ = 0;
  double batch_done_ = 0;
  int64_t outstanding_ = 0;
  bool asked_ = true;
  double now_ = 1;

 private:
  double done_ = 0;
  uint64_t checks_ = 0;
};

// Steps until the phase is another one.
ControlSetting UntilLeft(AutoController& controller, Database& database, ControlPhase phase) {
  ControlSetting setting;
  setting.phase = phase;
  for (int i = 0; i < 200 && setting.phase == phase; ++i) {
    setting = controller.Step(database.After(0.1));
  }
  return setting;
}

TEST(AutoController, BeginsByMeasuringTheForegroundAlone) {
  AutoController controller({});
  Database database(1000);
  const ControlSetting setting = controller.Step(database.After(0.1));
  EXPECT_EQ(setting.phase, ControlPhase::kOff);
  EXPECT_TRUE(setting.shut);
  EXPECT_GT(setting.next, absl::ZeroDuration());
}

TEST(AutoController, OpensOnceHalfASecondWithoutBatchWorkIsMeasured) {
  AutoController controller({});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  const ControlSetting setting = UntilLeft(controller, database, ControlPhase::kOff);
  EXPECT_EQ(setting.phase, ControlPhase::kOn);
  EXPECT_FALSE(setting.shut);
  EXPECT_NEAR(setting.alone, 1000, 20);
  EXPECT_NEAR(database.now_, 1.7, 0.2);
}

TEST(AutoController, WaitsForBatchWorkToEndButNotForEver) {
  AutoController controller({});
  Database database(1000);
  database.outstanding_ = 3;
  database.batch_active_ = 3;
  (void)controller.Step(database.After(0.1));
  EXPECT_EQ(UntilLeft(controller, database, ControlPhase::kOff).phase, ControlPhase::kOn);
  EXPECT_NEAR(database.now_, 11.1, 0.3);
}

TEST(AutoController, APermitThatNobodyReportsSpoilsNoWindow) {
  AutoController controller({});
  Database database(1000);
  database.outstanding_ = 1;
  (void)controller.Step(database.After(0.1));
  EXPECT_NEAR(UntilLeft(controller, database, ControlPhase::kOff).alone, 1000, 20);
  EXPECT_NEAR(database.now_, 2.7, 0.3);
}

TEST(AutoController, SessionsThatDoNotAskAreWaitedForAWhile) {
  AutoController controller({});
  Database database(1000);
  database.batch_active_ = 1;  // Headgate knows of no permit
  (void)controller.Step(database.After(0.1));
  (void)UntilLeft(controller, database, ControlPhase::kOff);
  EXPECT_NEAR(database.now_, 2.7, 0.3);
}

TEST(AutoController, AForegroundThatFeelsNothingLetsTheRateGrow) {
  AutoController controller({});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  const double before = UntilLeft(controller, database, ControlPhase::kOff).rate;
  database.outstanding_ = 1;
  const double after = UntilLeft(controller, database, ControlPhase::kOn).rate;
  EXPECT_NEAR(after / before, 2.01, 0.1);  // e^0.7
}

TEST(AutoController, AWindowWithoutBatchWorkDoesNotLetTheRateGrow) {
  AutoController controller({});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  const double before = UntilLeft(controller, database, ControlPhase::kOff).rate;
  EXPECT_LE(UntilLeft(controller, database, ControlPhase::kOn).rate, before);
}

TEST(AutoController, AForegroundThatIsMuchSlowerHalvesTheRateWithinTheWindow) {
  AutoController controller({});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  double rate = UntilLeft(controller, database, ControlPhase::kOff).rate;
  database.throughput_ = 400;
  for (int i = 0; i < 8; ++i) rate = controller.Step(database.After(0.1)).rate;
  EXPECT_LT(rate, 0.08);
}

TEST(AutoController, TheRateStaysWithinItsBounds) {
  AutoController controller({.max_rate = 0.5});
  Database database(1000);
  for (int i = 0; i < 600; ++i) {
    const double rate = controller.Step(database.After(0.1)).rate;
    EXPECT_GE(rate, 0.03);
    EXPECT_LE(rate, 0.5);
  }
  database.throughput_ = 100;
  double rate = 1;
  for (int i = 0; i < 100; ++i) rate = controller.Step(database.After(0.1)).rate;
  EXPECT_GE(rate, 0.03);
}

TEST(AutoController, BatchTransactionsAreNotTakenForTheForegrounds) {
  AutoController controller({});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  (void)UntilLeft(controller, database, ControlPhase::kOff);
  ControlSetting setting;
  for (int i = 0; i < 30 && setting.with_batch == 0; ++i) {
    database.batch_done_ += 500;
    setting = controller.Step(database.After(0.1));
  }
  EXPECT_NEAR(setting.with_batch, 1000, 30);
}

TEST(AutoController, NoForegroundMeansFullSpeedWithinTwoSeconds) {
  AutoController controller({.max_rate = 4});
  Database database(0);
  ControlSetting setting;
  for (int i = 0; i < 20; ++i) setting = controller.Step(database.After(0.1));
  EXPECT_EQ(setting.phase, ControlPhase::kIdle);
  EXPECT_FALSE(setting.shut);
  EXPECT_EQ(setting.rate, 4);
}

TEST(AutoController, AForegroundThatComesEndsFullSpeedAtOnce) {
  AutoController controller({});
  Database database(0);
  for (int i = 0; i < 20; ++i) (void)controller.Step(database.After(0.1));
  database.throughput_ = 1000;
  const ControlSetting setting = controller.Step(database.After(0.1));
  EXPECT_EQ(setting.phase, ControlPhase::kOff);
  EXPECT_LE(setting.rate, 0.2);
}

TEST(AutoController, WithNobodyAskingItRestsAndIsNotShut) {
  AutoController controller({});
  Database database(1000);
  database.asked_ = false;
  ControlSetting setting;
  for (int i = 0; i < 40; ++i) setting = controller.Step(database.After(0.1));
  EXPECT_EQ(setting.phase, ControlPhase::kRest);
  EXPECT_FALSE(setting.shut);
  EXPECT_LE(setting.rate, 0.2);
  database.asked_ = true;
  EXPECT_EQ(controller.Step(database.After(0.1)).phase, ControlPhase::kOff);
}

TEST(AutoController, ADatabaseThatCannotBeSeenIsNotShutAndSoonAllButStopped) {
  AutoController controller({});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  const ControlSetting first = controller.Miss(static_cast<int64_t>(1.5e9));
  EXPECT_FALSE(first.shut);
  EXPECT_EQ(first.rate, 0.2);
  EXPECT_EQ(controller.Miss(static_cast<int64_t>(4e9)).rate, 0.03);
}

TEST(AutoController, CountersThatGoBackwardsBeginAnew) {
  AutoController controller({});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  (void)UntilLeft(controller, database, ControlPhase::kOff);
  Database another(1000);
  another.now_ = database.now_;
  another.throughput_ = 10;
  EXPECT_EQ(controller.Step(another.After(0.1)).phase, ControlPhase::kOff);
}

TEST(AutoController, WindowsDifferInLengthSoThatNothingFallsIntoStep) {
  AutoController controller({.seed = 7});
  Database database(1000);
  (void)controller.Step(database.After(0.1));
  std::set<int> lengths;
  for (int i = 0; i < 12; ++i) {
    (void)UntilLeft(controller, database, ControlPhase::kOff);
    const double from = database.now_;
    (void)UntilLeft(controller, database, ControlPhase::kOn);
    lengths.insert(static_cast<int>((database.now_ - from) * 10 + 0.5));
  }
  EXPECT_GE(lengths.size(), 4u);
}

}  // namespace
}  // namespace headgate::health
