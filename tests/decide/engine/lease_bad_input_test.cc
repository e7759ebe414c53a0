// Leases and returns of callers that are mistaken, late or malicious, and clocks that jump.

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using ::testing::StartsWith;

constexpr LeaseTerms kTerms = {.least = 5, .life = absl::Seconds(1)};

CheckRequest LeaseOf(std::string_view identity, double most) {
  return {.identity = identity, .estimated_cost = most, .lease = &kTerms};
}

ActualCost SpentBy(uint64_t subject_key, double estimate, int64_t pieces) {
  return {.spent = ActualCost::Spent{
              .estimate = estimate, .pieces = pieces, .subject_key = subject_key}};
}

TEST(LeaseBadInput, AReturnAfterTheEndIsSettledOnceAllTheSame) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer lease = engine.Check(LeaseOf("job:etl", 50));
  const Now late = At(absl::Seconds(1.5));
  EXPECT_NEAR(engine.Debt("job:etl", "b", late), 35, 1e-6);
  EXPECT_EQ(engine.Settle(lease.permit, SpentBy(0, 20, 4), late).outcome, ReportOutcome::kSettled);
  EXPECT_NEAR(engine.Debt("job:etl", "b", late), 5, 1e-6);  // of 30 that were not spent
  EXPECT_EQ(engine.Settle(lease.permit, SpentBy(0, 0, 0), late).outcome,
            ReportOutcome::kAlreadySettled);
  EXPECT_NEAR(engine.Debt("job:etl", "b", late), 5, 1e-6);
}

TEST(LeaseBadInput, WhoReportsAnothersLeaseIsRefusedAndSettlesNothing) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer lease = engine.Check(LeaseOf("job:etl", 50));
  const CheckAnswer other = engine.Check(LeaseOf("other:etl", 30));
  const absl::Status refused =
      engine->Report(lease.permit, SpentBy(other.subject_key, 0, 0), At()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(Message(refused), StartsWith("lease_use.identity: "));
  EXPECT_EQ(engine.Debt("job:etl", "b"), 80);
  EXPECT_EQ(engine.Settle(lease.permit, SpentBy(lease.subject_key, 0, 0)).outcome,
            ReportOutcome::kSettled);
  EXPECT_EQ(engine.Debt("job:etl", "b"), 30);
}

// There is room for 1,024 permits: who has many loses what it could have given back, and nothing is
// admitted for that.
TEST(LeaseBadInput, OfAHundredThousandLeasesAllAreChargedAndTheFirstForgotten) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 1e9)));
  PermitId first = 0, last = 0;
  for (int i = 0; i < 100'000; ++i) {
    const CheckAnswer lease = engine.Check(LeaseOf("job:etl", 10));
    ASSERT_EQ(lease.grant.amount, 10);
    if (i == 0) first = lease.permit;
    last = lease.permit;
  }
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 1e6, 1e-3);
  EXPECT_EQ(engine.Settle(first, SpentBy(0, 0, 0)).outcome, ReportOutcome::kForgotten);
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 1e6, 1e-3);
  EXPECT_EQ(engine.Settle(last, SpentBy(0, 0, 0)).outcome, ReportOutcome::kSettled);
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 1e6 - 10, 1e-3);
}

TEST(LeaseBadInput, AClockThatJumpsGrantsNothingTwice) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer lease = engine.Check(LeaseOf("job:etl", 100));
  // Back: all is still owed.
  const Now back = At() - absl::Hours(1);
  EXPECT_EQ(engine.Check(LeaseOf("other:etl", 100), back).verdict, Verdict::kDenied);
  // Ahead: the lease is over, and its charge has drained; none of that comes back.
  const Now ahead = At(absl::Hours(1));
  EXPECT_NEAR(engine.Check(LeaseOf("other:etl", 500), ahead).grant.amount, 100, 1e-6);
  engine.Settle(lease.permit, SpentBy(0, 0, 0), ahead);
  EXPECT_NEAR(engine.Debt("job:etl", "b", ahead), 100, 1e-6);
}

}  // namespace
}  // namespace headgate::engine
