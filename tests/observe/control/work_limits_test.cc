#include "server/observe/control/work_limits.h"

#include <cmath>

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

constexpr double kUsual = 1e-4;  // s by which statements deviate without batch work
constexpr double kTailEach = 5;  // by which a unit of batch work makes that larger, as a share

// A foreground with work and pauses by turns, of which the tail alone is hurt.
class Foreground {
 public:
  // A pause, after so many flows of one that do not know the times of statements, and work.
  void Turn(int unknown = 0) {
    for (int i = 0; i < unknown; ++i) Add(0, 0);
    for (int i = 0; i < 4; ++i) Add(0, kUsual);
    for (int i = 0; i < 4; ++i) Add(0.1, kUsual * (1 + 0.1 * kTailEach));
    Add(0, kUsual);
    limits_.Age(1.3, 0.1);
    limits_.Learn(estimate_, WorkLimits::Source::kFlows, 0.1);
    estimate_.KeepQuietEnd();
  }
  HarmView Tail() const { return limits_.View(Harm::kTail, 0.1); }
  void Rest(double seconds) { limits_.Age(seconds, 0.1); }

 private:
  void Add(double in_flight, double deviation) {
    // What differs by chance, a little.
    sign_ = -sign_;
    at_ += 0.2;
    estimate_.Add({.at = at_,
                   .seconds = 0.2,
                   .source = Flow::Source::kStatements,
                   .throughput = 1000,
                   .mean = deviation,
                   .deviation = deviation * (1 + 0.05 * sign_),
                   .in_flight = in_flight});
  }

  EffectEstimate estimate_;
  WorkLimits limits_{ControlOptions{}};
  double at_ = 0, sign_ = 1;
};

TEST(WorkLimits, FindWhatAUnitOfWorkDoesToTheTail) {
  Foreground foreground;
  for (int i = 0; i < 20; ++i) foreground.Turn();
  EXPECT_NEAR(foreground.Tail().expected, 0.1 * kTailEach, 0.1);
  EXPECT_TRUE(foreground.Tail().known);
}

// It takes no longer than an hour does: the test would not end.
TEST(WorkLimits, YearsAtRestLeaveNothingOfWhatWasLearnt) {
  Foreground foreground, rested;
  for (int i = 0; i < 20; ++i) foreground.Turn();
  foreground.Rest(1e15);
  rested.Rest(3600);
  EXPECT_NEAR(foreground.Tail().expected, rested.Tail().expected, 1e-3);
  EXPECT_FALSE(foreground.Tail().known);
}

// As before the first batch session was seen.
TEST(WorkLimits, AFlowThatDoesNotKnowTheTimesSaysNothingOfWhatIsUsual) {
  Foreground foreground, informed;
  foreground.Turn(/*unknown=*/40);
  informed.Turn();
  for (int i = 0; i < 5; ++i) {
    foreground.Turn();
    informed.Turn();
  }
  EXPECT_NEAR(foreground.Tail().expected, informed.Tail().expected, 0.1);
  EXPECT_LT(foreground.Tail().uncertainty, 1.5 * informed.Tail().uncertainty);
}

}  // namespace
}  // namespace headgate::control
