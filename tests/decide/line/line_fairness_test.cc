// Who gets what share, in simulated time, of jobs that wait and poll beside each other.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/decide/line/line_simulation.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::line {
namespace {

// Budgets "x" and "y" of 1000 cost units a second and a burst of 250, on a real engine. Tags say
// which of them a job is charged to.
class LineFairness : public ::testing::Test {
 protected:
  LineFairness()
      : engine_(Options()),
        lines_({}, [this](const auto& request, Now now,
                          auto& answer) { return engine_.Check(request, now, answer); }),
        simulation_([this](const auto& request, Now now,
                           auto& answer) { return engine_.Check(request, now, answer); },
                    lines_, kSimulationStartNs,
                    [this](const SimulatedJob& job, engine::PermitId permit, Now now) {
                      ++reports_;
                      EXPECT_TRUE(engine_.Report(permit, {.cost = job.chunk}, now).ok());
                    }) {
    engine_.AttachLine(&lines_);
  }
  static engine::EngineOptions Options() {
    engine::EngineOptions options;
    options.seed = 7;
    options.max_permit_share = 1;
    return options;
  }
  // With these rules besides, and for as long as it takes to be past the burst; then what counts.
  void Run(std::vector<engine::RuleSpec> rules = {}) {
    engine::PolicySpec spec;
    for (const char* name : {"x", "y"}) {
      spec.budgets.push_back(engine::RateBudget(name, 1000, 250));
    }
    spec.budgets.push_back(engine::RateBudget("slow", 0.001, 20));
    for (const engine::BudgetSpec& budget : spec.budgets) {
      engine::RuleSpec rule = engine::ChargeRule("charge-" + budget.name, "", {budget.name});
      rule.match.tags = {{budget.name, "1"}};
      spec.rules.push_back(rule);
    }
    for (engine::RuleSpec& rule : rules) spec.rules.push_back(std::move(rule));
    ASSERT_TRUE(engine_.Install(spec, simulation_.now()).ok());
    simulation_.RunFor(absl::Seconds(5));
    simulation_.Forget();
    simulation_.RunFor(absl::Seconds(60));
    EXPECT_GT(reports_, 0);
  }
  static double Jain(const std::vector<double>& shares) {
    double sum = 0;
    double squares = 0;
    for (const double share : shares) {
      sum += share;
      squares += share * share;
    }
    return sum * sum / (static_cast<double>(shares.size()) * squares);
  }
  double JainOfFirst(size_t count) {
    std::vector<double> shares;
    for (size_t job = 0; job < count; ++job) shares.push_back(simulation_.admitted(job));
    return Jain(shares);
  }

  engine::Engine engine_;
  WaitingLines lines_;
  Simulation simulation_;
  int64_t reports_ = 0;
};

const std::vector<engine::Tag> kX = {{"x", "1"}}, kY = {{"y", "1"}};
const std::vector<engine::Tag> kBoth = {{"x", "1"}, {"y", "1"}};
const std::vector<engine::Tag> kSlow = {{"x", "1"}, {"slow", "1"}};

TEST_F(LineFairness, EightWorkersGetNoMoreThanOne) {
  simulation_.Add({.identity = "eight:etl", .tags = kX, .workers = 8});
  simulation_.Add({.identity = "one:etl", .tags = kX});
  Run();
  EXPECT_GE(JainOfFirst(2), 0.99);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.99 * 60'000);
}

TEST_F(LineFairness, LargeChunksGetAsMuchAsSmallOnes) {
  simulation_.Add({.identity = "small:etl", .tags = kX, .chunk = 10, .workers = 4});
  simulation_.Add({.identity = "large:etl", .tags = kX, .chunk = 200, .workers = 4});
  Run();
  EXPECT_GE(JainOfFirst(2), 0.98);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.99 * 60'000);
}

TEST_F(LineFairness, FiftyJobsOfOneTeamGetAsMuchAsOneOfAnother) {
  for (int i = 0; i < 50; ++i) {
    simulation_.Add({.identity = absl::StrCat("j", i, ":x"), .tags = kX});
  }
  simulation_.Add({.identity = "only:y", .tags = kX});
  Run();
  EXPECT_NEAR(simulation_.Share(50), 0.5, 0.01);
}

TEST_F(LineFairness, SharesGoByWeight) {
  simulation_.Add({.identity = "a:etl", .tags = kX, .workers = 2});
  simulation_.Add({.identity = "a:dwh", .tags = kX, .workers = 2});
  Run({engine::RuleOn("heavy", "etl", engine::WeightAction{3})});
  EXPECT_NEAR(simulation_.Share(0), 0.75, 0.75 * 0.05);
}

TEST_F(LineFairness, TheLowestPriorityGetsItsFloor) {
  simulation_.Add({.identity = "high:etl", .tags = kX, .workers = 4});
  simulation_.Add({.identity = "low:etl", .tags = kX, .workers = 4});
  Run({engine::RuleOn("high", "high:etl", engine::PriorityAction{10})});
  EXPECT_NEAR(simulation_.Share(1), 0.05, 0.01);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.99 * 60'000);
}

TEST_F(LineFairness, APollerBesideNineThatWaitGetsHalfOfItsShareAtLeast) {
  simulation_.Add({.identity = "polls:etl", .tags = kX, .polls = true});
  for (int i = 0; i < 9; ++i) {
    simulation_.Add({.identity = absl::StrCat("w", i, ":etl"), .tags = kX});
  }
  Run();
  EXPECT_GE(simulation_.Share(0), 0.05);
  EXPECT_LE(simulation_.Share(0), 0.11);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.99 * 60'000);
}

TEST_F(LineFairness, APollerWithLargeChunksGetsHalfOfItsShareAtLeast) {
  simulation_.Add({.identity = "polls:etl", .tags = kX, .chunk = 100, .polls = true});
  for (int i = 0; i < 9; ++i) {
    simulation_.Add({.identity = absl::StrCat("w", i, ":etl"), .tags = kX});
  }
  Run();
  EXPECT_GE(simulation_.Share(0), 0.05);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.99 * 60'000);
}

TEST_F(LineFairness, APollerBesideOneThatWaitsGetsHalfOfItsShareAtLeast) {
  simulation_.Add({.identity = "polls:etl", .tags = kX, .chunk = 50, .polls = true});
  simulation_.Add({.identity = "waits:etl", .tags = kX, .chunk = 50, .workers = 4});
  Run();
  EXPECT_GE(simulation_.Share(0), 0.25);
  EXPECT_GE(simulation_.AdmittedInAll(), 0.99 * 60'000);
}

TEST_F(LineFairness, WhoNeedsTwoBucketsIsNotStarvedByThoseWhoNeedOne) {
  simulation_.Add({.identity = "both:etl", .tags = kBoth, .chunk = 50});
  simulation_.Add({.identity = "x-only:etl", .tags = kX, .workers = 4});
  simulation_.Add({.identity = "y-only:etl", .tags = kY, .workers = 4});
  Run();
  // Of each bucket half is its share.
  EXPECT_GE(simulation_.admitted(0), 0.25 * 60'000);
  EXPECT_GE(simulation_.admitted(0) + simulation_.admitted(1), 0.99 * 60'000);
  EXPECT_GE(simulation_.admitted(0) + simulation_.admitted(2), 0.99 * 60'000);
}

TEST_F(LineFairness, WhoseOwnBucketIsSlowHoldsUpNobody) {
  simulation_.Add({.identity = "slow:etl", .tags = kSlow, .workers = 8});
  simulation_.Add({.identity = "quick:etl", .tags = kX, .workers = 2});
  Run();
  EXPECT_LE(simulation_.admitted(0), 20);
  EXPECT_GE(simulation_.admitted(1), 0.99 * 60'000);
}

TEST_F(LineFairness, AnAdmissionTakesFewExaminations) {
  for (int i = 0; i < 32; ++i) {
    simulation_.Add({.identity = absl::StrCat("w", i, ":etl"), .tags = kX, .chunk = 50});
  }
  Run();
  const double admissions = simulation_.AdmittedInAll() / 50;
  // One that refuses it and tells the instant, one that admits it, and one at its arrival.
  const auto looks = static_cast<double>(lines_.ReadStats(simulation_.now()).examined);
  EXPECT_LE(looks, 4 * admissions);
  EXPECT_GE(looks, admissions);
}

}  // namespace
}  // namespace headgate::line
