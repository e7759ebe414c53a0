// How much of what is due comes back: shares of refunds through the engine, among many others, in
// any order of Reports. Where nothing has drained, all that was not spent is due.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

BudgetSpec OneBucketForEachJob(size_t max_buckets = 65'536) {
  BudgetSpec budget = RateBudget("b", 1, 1e9);
  budget.split = SplitByDepth{2};
  budget.max_buckets = max_buckets;
  return budget;
}

std::string Job(int number) { return absl::StrCat("job-", number, ":etl"); }

EngineOptions ManyPermits() {
  EngineOptions options = TestEngine::Options();
  options.max_permits = 32'768;
  return options;
}

// Of one permit of 100 that is reported as 10, while so many others report theirs.
double ShareAmong(int others, size_t max_buckets) {
  TestEngine engine(OneBudget(OneBucketForEachJob(max_buckets)), ManyPermits());
  const PermitId mine = engine.Check("mine:etl", 100).permit;
  std::vector<PermitId> permits;
  for (int i = 0; i < others; ++i) permits.push_back(engine.Check(Job(i), 100).permit);
  for (const PermitId permit : permits) engine.Report(permit, 10);
  engine.Report(mine, 10);
  return (100 - engine.Debt("mine:etl", "b")) / 90;
}

TEST(RefundShare, IsWholeWhileManyOthersAreRefunded) {
  for (const int others : {0, 20, 640, 10'000}) {
    EXPECT_GE(ShareAmong(others, 65'536), 0.98) << others << " others";
  }
}

TEST(RefundShare, IsWholeInATableThatIsThreeQuartersFull) {
  EXPECT_GE(ShareAmong(12'000, 16'384), 0.98);
}

TEST(RefundShare, OfJobsWhoseEstimatesAreNoisyIsWhole) {
  constexpr int kJobs = 200, kRounds = 10;
  TestEngine engine(OneBudget(OneBucketForEachJob()));
  std::mt19937_64 random(20261123);
  double due = 0, refunded = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::pair<int, CheckAnswer>> out;
    for (int i = 0; i < kJobs; ++i) out.emplace_back(i, engine.Check(Job(i), 100));
    std::shuffle(out.begin(), out.end(), random);
    for (const auto& [job, answer] : out) {
      const auto actual = static_cast<double>(random() % 201);
      const double before = engine.Debt(Job(job), "b");
      engine.Report(answer.permit, actual);
      if (actual >= answer.predicted_cost) continue;
      due += answer.predicted_cost - actual;
      refunded += before - engine.Debt(Job(job), "b");
    }
  }
  EXPECT_GE(refunded / due, 0.98);
}

TEST(RefundShare, OfTwoPermitsReportedLastInFirstOutIsEachItsOwn) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1000)));
  EXPECT_TRUE(engine.Admits("etl", 50));
  const PermitId first = engine.Check("etl", 100).permit;   // to drain from 50 to 150
  const PermitId second = engine.Check("etl", 100).permit;  // from there to 250
  engine.Report(second, 10, At(absl::Seconds(50)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(50))), 110);
  engine.Report(first, 10, At(absl::Seconds(50)));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(50))), 20);
}

TEST(RefundShare, OfAStackOfPermitsIsEachItsOwn) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1000)));
  EXPECT_TRUE(engine.Admits("etl", 50));
  std::vector<PermitId> stack;
  for (int i = 0; i < 5; ++i) stack.push_back(engine.Check("etl", 100).permit);
  for (int i = 4; i >= 0; --i) {
    engine.Report(stack[i], 10, At(absl::Seconds(50)));
    EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", At(absl::Seconds(50))), 100 * i + 10 * (5 - i));
  }
}

TEST(RefundShare, WithChargesBehindTheOneRefundedIsEachItsOwn) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1000)));
  EXPECT_TRUE(engine.Admits("etl", 50));
  const PermitId first = engine.Check("etl", 100).permit;   // to drain from 50 to 150
  const PermitId second = engine.Check("etl", 100).permit;  // from there to 250
  const PermitId third = engine.Check("etl", 100).permit;   // from there to 350
  engine.Report(second, 10);                                // the third from 160 to 260 now
  const Now later = At(absl::Seconds(210));
  engine.Report(first, 0, later);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", later), 50);  // the first had drained
  engine.Report(third, 0, later);
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b", later), 0);
}

// A permit of 100 each that is reported as 10, so many permits a job, with 50 in front that have
// drained when the Reports come: nothing of the permits has.
double ShareOfJobs(int jobs, int permits_each, bool last_first) {
  TestEngine engine(OneBudget(OneBucketForEachJob()), ManyPermits());
  std::mt19937_64 random(20261125);
  std::vector<std::pair<int, PermitId>> out;
  for (int job = 0; job < jobs; ++job) {
    EXPECT_TRUE(engine.Admits(Job(job), 50));
    for (int i = 0; i < permits_each; ++i) {
      out.emplace_back(job, engine.Check(Job(job), 100).permit);
    }
  }
  if (last_first) {
    std::reverse(out.begin(), out.end());
  } else {
    std::shuffle(out.begin(), out.end(), random);
  }
  const Now later = At(absl::Seconds(50));
  for (const auto& [job, permit] : out) engine.Report(permit, 10, later);
  double owed = 0;
  for (int job = 0; job < jobs; ++job) owed += engine.Debt(Job(job), "b", later);
  const double charged = 100.0 * jobs * permits_each;
  return (charged - owed) / (0.9 * charged);
}

TEST(RefundShare, OfManyJobsWithPermitsInAnyOrderIsAlmostWhole) {
  for (const bool last_first : {true, false}) {
    for (const auto& [jobs, permits_each] :
         std::vector<std::pair<int, int>>{{8'000, 3}, {2'000, 12}, {100, 240}, {1, 1'000}}) {
      EXPECT_GE(ShareOfJobs(jobs, permits_each, last_first), 0.98)
          << jobs << " with " << permits_each << (last_first ? ", last first" : ", any order");
    }
  }
}

// Many workers on one bucket, whose Reports come in any order: 50 units a permit wait to drain.
TEST(RefundShare, OfManyPermitsOnOneBucketInAnyOrderIsAlmostWhole) {
  constexpr int kPermits = 24;
  std::mt19937_64 random(20261123);
  double due = 0, refunded = 0;
  for (int round = 0; round < 100; ++round) {
    TestEngine engine(OneBudget(RateBudget("b", 1, 1e6)));
    EXPECT_TRUE(engine.Admits("etl", 50));
    std::vector<PermitId> out;
    for (int i = 0; i < kPermits; ++i) out.push_back(engine.Check("etl", 100).permit);
    std::shuffle(out.begin(), out.end(), random);
    const Now later = At(absl::Seconds(50));
    for (const PermitId permit : out) {
      const double before = engine.Debt("etl", "b", later);
      engine.Report(permit, 10, later);
      due += 90;
      refunded += before - engine.Debt("etl", "b", later);
    }
  }
  EXPECT_GE(refunded / due, 0.98);
}

}  // namespace
}  // namespace headgate::engine
