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

TEST(LeaseBadInput, OfAHundredThousandLeasesEachIsGrantedOrRefused) {
  TestEngine engine(OneBudget(RateBudget("b", 1e6, 1e9)));
  int granted = 0;
  CheckAnswer answer;
  for (int i = 0; i < 100'000; ++i) {
    const absl::Status status = engine->Check(LeaseOf("job:etl", 10), At(), answer);
    if (status.ok()) {
      ASSERT_EQ(answer.grant.amount, 10);
      ++granted;
    } else {
      ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
    }
  }
  EXPECT_EQ(granted, 1024) << "as many as there are permits";
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 10 * granted, 1e-3);
  // Those are over.
  EXPECT_TRUE(engine->Check(LeaseOf("job:etl", 10), At(absl::Seconds(2)), answer).ok());
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
