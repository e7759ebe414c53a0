// Those who asked once and never come back: how long they may keep those waiting who are there.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/decide/line/line_fixture.h"
#include "tests/decide/line/line_simulation.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::line {
namespace {

constexpr absl::Duration kLongWait = absl::Minutes(10);

// A bucket "a" of half a second with a line, which others have asked and left.
class LineAbsent : public ::testing::Test {
 protected:
  explicit LineAbsent(absl::Duration burst = absl::Milliseconds(500)) {
    world_.limits.AddBucket("a", burst);
    full_ = absl::ToDoubleMilliseconds(burst);
    world_.Ask("first:honest", "a", full_, absl::ZeroDuration());
    world_.Ask("second:honest", "a", 1, kLongWait);
  }
  void AskAndLeave(int count, double cost, const std::string& root = "other") {
    for (int i = 0; i < count; ++i) {
      world_.Ask(absl::StrCat("x", asked_++, ":", root), "a", cost, absl::ZeroDuration());
    }
  }
  // How long it waits that comes now, in milliseconds, and what it was told when it came.
  double WaitOf(double cost) {
    world_.TakeLog();
    world_.Ask("job:honest", "a", cost, kLongWait);
    told_ms_ = absl::ToDoubleMilliseconds(TurnOf("job:honest"));
    const int64_t asked_at_ns = world_.now_ns;
    while (world_.log.empty() && world_.now_ns < asked_at_ns + 300'000 * kMs) {
      world_.RunTo(absl::Nanoseconds(world_.now_ns - TestLines::kStartNs) + absl::Milliseconds(1));
      std::erase_if(world_.log, [](const Answered& each) { return each.identity != "job:honest"; });
    }
    return static_cast<double>(world_.now_ns - asked_at_ns) / kMs;
  }
  absl::Duration TurnOf(const std::string& identity) {
    const LinesView view =
        world_.lines.ReadLines({.most_lines = 1, .most_waiting = 10}, world_.now());
    for (const LineView& line : view.lines) {
      for (const WaitingView& each : line.first) {
        if (each.identity == identity) return each.expected;
      }
    }
    return absl::ZeroDuration();
  }

  TestLines world_;
  double full_ = 0;
  double told_ms_ = 0;
  int asked_ = 0;
};

TEST_F(LineAbsent, KeepNobodyWaitingWhoAsksForLittle) {
  AskAndLeave(1000, full_);
  EXPECT_LE(WaitOf(50), 1500);
}

TEST_F(LineAbsent, KeepNobodyWaitingWhoAsksForTheWholeBurst) {
  AskAndLeave(1000, full_);
  EXPECT_LE(WaitOf(full_), 1500);
}

TEST_F(LineAbsent, KeepNobodyWaitingWhateverTheyCost) {
  for (const double part : {0.1, 0.45, 0.55, 0.7, 0.95}) AskAndLeave(200, part * full_);
  EXPECT_LE(WaitOf(50), 1500);
  EXPECT_LE(WaitOf(full_), 2000);
}

TEST_F(LineAbsent, KeepNobodyWaitingWhereEachHasARootOfItsOwn) {
  for (int i = 0; i < 1000; ++i) AskAndLeave(1, full_, absl::StrCat("root", i));
  EXPECT_LE(WaitOf(50), 1500);
  EXPECT_LE(WaitOf(full_), 2000);
}

TEST_F(LineAbsent, KeepNobodyWaitingWhoComesLongAfterThem) {
  AskAndLeave(1000, full_);
  world_.RunTo(absl::Seconds(5));
  EXPECT_LE(WaitOf(50), 1000);
}

TEST_F(LineAbsent, TurnsAreToldAsTheyCome) {
  for (const double cost : {50.0, full_}) {
    AskAndLeave(50, full_);
    const double waited = WaitOf(cost);
    EXPECT_LE(waited, 1.1 * told_ms_ + 1) << cost;
  }
}

TEST_F(LineAbsent, TakeNextToNothingOfTheRateHoweverManyCome) {
  double admitted = 0;
  AskAndLeave(100, full_);
  const int64_t until_ns = world_.now_ns + 60'000 * kMs;
  while (world_.now_ns < until_ns) {
    world_.Ask("job:honest", "a", 0.6 * full_, kLongWait);
    world_.TakeLog();
    while (world_.log.empty() && world_.now_ns < until_ns) {
      AskAndLeave(1, full_, absl::StrCat("root", asked_));
      world_.TakeLog();
      world_.RunTo(absl::Nanoseconds(world_.now_ns - TestLines::kStartNs) + absl::Milliseconds(10));
    }
    admitted += 0.6 * full_;
  }
  EXPECT_GE(admitted, 0.9 * 60'000);
}

class LineAbsentOfASlowBudget : public LineAbsent {
 protected:
  LineAbsentOfASlowBudget() : LineAbsent(absl::Minutes(1)) {}
};

TEST_F(LineAbsentOfASlowBudget, MakeNoMoreThanHalfOfTheBurstDrainForThem) {
  AskAndLeave(50, full_);
  EXPECT_LE(WaitOf(50), 31'500);
}

// A real budget of 1000 units a second and a burst of 250.
class LineOfThoseWhoComeBack : public ::testing::Test {
 protected:
  LineOfThoseWhoComeBack() { engine_.AttachLine(&lines_); }

  // With `strangers` new ones every 10 ms, who ask for the whole burst and never come back.
  void Run(int strangers) {
    engine::PolicySpec spec;
    spec.budgets.push_back(engine::RateBudget("x", 1000, 250));
    spec.rules.push_back(engine::ChargeRule("charge", "", {"x"}));
    ASSERT_TRUE(engine_.Install(spec, simulation_.now()).ok());
    for (int i = 0; i < 6000; ++i) {
      simulation_.RunFor(absl::Milliseconds(10));
      for (int each = 0; each < strangers; ++each) {
        const std::string identity = absl::StrCat("x:r", i, "-", each);
        engine::CheckAnswer answer;
        ASSERT_TRUE(
            check_({.identity = identity, .estimated_cost = 250}, simulation_.now(), answer).ok());
      }
    }
  }

  engine::Engine engine_{{.seed = 7, .max_permit_share = 1}};
  const WaitingLines::Examine check_ = [this](const auto& request, Now now, auto& answer) {
    return engine_.Check(request, now, answer);
  };
  WaitingLines lines_{{}, check_};
  Simulation simulation_{check_, lines_, kSimulationStartNs,
                         [this](const SimulatedJob& job, engine::PermitId permit, Now now) {
                           EXPECT_TRUE(engine_.Report(permit, {.cost = job.chunk}, now).ok());
                         }};
};

TEST_F(LineOfThoseWhoComeBack, HaveHalfOfTheirShareOfChunksThatAreLarge) {
  simulation_.Add({.identity = "polls:etl", .chunk = 200, .polls = true});
  simulation_.Add({.identity = "waits:etl", .chunk = 200, .workers = 2});
  Run(0);
  EXPECT_GE(simulation_.Share(0), 0.25);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.95 * 60'000);
}

TEST_F(LineOfThoseWhoComeBack, HaveHalfOfTheirShareBesideManyWhoDoNot) {
  simulation_.Add({.identity = "polls:etl", .chunk = 50, .polls = true});
  simulation_.Add({.identity = "waits:etl", .chunk = 50, .workers = 4});
  Run(5);
  EXPECT_GE(simulation_.Share(0), 0.25);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.95 * 60'000);
}

}  // namespace
}  // namespace headgate::line
