// A restart with a smaller table of permits: those that are out stay out, and hold what they hold.

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

constexpr int kOut = 100;

class SmallerRestart : public testing::Test {
 protected:
  // With so many permits out.
  void Begin(PolicySpec policy, double cost) {
    policy_ = std::move(policy);
    engine_ = std::make_unique<Engine>(TestEngine::Options());
    ASSERT_TRUE(engine_->Install(policy_, At()).ok());
    for (int i = 0; i < kOut; ++i) permits_.push_back(Check(cost).permit);
  }
  // With room for 64.
  void Restart(Now now = At()) {
    SavedState state;
    engine_->Save(now, state);
    EngineOptions options = TestEngine::Options();
    options.max_permits = 64;
    engine_ = std::make_unique<Engine>(options);
    ASSERT_TRUE(engine_->Restore(state, now, 0).ok());
    ASSERT_TRUE(engine_->Install(policy_, now).ok());
    EXPECT_EQ(engine_->ReadPermitStats(now).capacity, 64U);
  }
  CheckAnswer Check(double cost, Now now = At()) {
    CheckAnswer answer;
    const absl::Status status = engine_->Check(Request("job:etl", cost), now, answer);
    EXPECT_TRUE(status.ok()) << status;
    return answer;
  }
  double Debt() {
    const absl::StatusOr<Explanation> explanation = engine_->Explain(Request("job:etl", 0), At());
    EXPECT_TRUE(explanation.ok()) << explanation.status();
    return explanation.ok() ? explanation->buckets.at(0).debt : -1;
  }

  PolicySpec policy_;
  std::unique_ptr<Engine> engine_;
  std::vector<PermitId> permits_;
};

TEST_F(SmallerRestart, KeepsThePermitsThatAreOutUntilTheyAreReported) {
  Begin(OneBudget(RateBudget("b", 10, 100)), 0.5);
  Restart();
  EXPECT_EQ(engine_->ReadStats(At()).permits_live, 100U);
  EXPECT_NEAR(Debt(), 50, 1e-6);
  for (const PermitId permit : permits_) {
    EXPECT_EQ(engine_->Report(permit, {.cost = 0}, At())->outcome, ReportOutcome::kSettled);
    EXPECT_EQ(engine_->Report(permit, {.cost = 0}, At())->outcome, ReportOutcome::kAlreadySettled);
  }
  EXPECT_NEAR(Debt(), 0, 1e-6);
  Restart();  // with none out their slots are gone
  for (const PermitId permit : permits_)
    EXPECT_TRUE(engine_->Report(permit, {.cost = 0}, At()).ok());
  EXPECT_NEAR(Debt(), 0, 1e-6);
}

// Nobody reports what a job that crashed had: it must not hold the larger table for good.
TEST_F(SmallerRestart, ForgetsThoseBeyondItThatAreNeverReported) {
  for (const bool first_while_out : {false, true}) {
    permits_.clear();
    Begin(OneBudget(RateBudget("b", 10, 100)), 0.5);
    const Now late = At(TestEngine::Options().permit_ttl);
    if (first_while_out) Restart();
    Restart(late);
    const Engine::PermitStats stats = engine_->ReadPermitStats(late);
    EXPECT_EQ(stats.live, 0U);
    EXPECT_LE(stats.overdue, 64U);
    int forgotten = 0;
    for (const PermitId permit : permits_) {
      const auto outcome = engine_->Report(permit, {.cost = 0}, late);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      forgotten += outcome->outcome == ReportOutcome::kForgotten ? 1 : 0;
    }
    EXPECT_EQ(forgotten, kOut - static_cast<int>(stats.overdue));
    EXPECT_GE(forgotten, kOut - 64);
  }
}

TEST_F(SmallerRestart, HasNoMoreRoomForNewPermitsThanItShould) {
  Begin(OneBudget(RateBudget("b", 10, 100)), 0);
  Restart();
  for (int i = 0; i < 300; ++i) Check(0);
  const Engine::PermitStats stats = engine_->ReadPermitStats(At());
  EXPECT_LE(stats.live, 164U);
  EXPECT_GT(stats.recycled_early, 0U);
}

TEST_F(SmallerRestart, AdmitsNoMoreAtATimeThanTheLimit) {
  Begin(OneBudget(ConcurrencyBudget("b", kOut)), 1);
  for (int restarts = 0; restarts < 2; ++restarts) {
    Restart();
    EXPECT_EQ(Check(1).reason, Reason::kMaxConcurrency);
  }
  EXPECT_EQ(engine_->Report(permits_.front(), {.cost = 1}, At())->outcome, ReportOutcome::kSettled);
  EXPECT_EQ(Check(1).verdict, Verdict::kAllowed);
  EXPECT_EQ(Check(1).reason, Reason::kMaxConcurrency);
  EXPECT_EQ(Check(1, At(TestEngine::Options().permit_ttl)).verdict, Verdict::kAllowed);
}

TEST_F(SmallerRestart, CountsForEveryIdentityByItself) {
  BudgetSpec budget = ConcurrencyBudget("b", 1);
  budget.split = SplitByDepth{8};
  policy_ = OneBudget(std::move(budget));
  engine_ = std::make_unique<Engine>(TestEngine::Options());
  ASSERT_TRUE(engine_->Install(policy_, At()).ok());
  const auto check = [&](int job) {
    CheckAnswer answer;
    const std::string identity = "job-" + std::to_string(job) + ":etl";
    EXPECT_TRUE(engine_->Check(Request(identity, 1), At(), answer).ok());
    return answer.reason;
  };
  constexpr int kJobs = 800;  // more than a table for 64 permits could count
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(check(i), Reason::kNone);
  Restart();
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(check(i), Reason::kMaxConcurrency);
}

}  // namespace
}  // namespace headgate::engine
