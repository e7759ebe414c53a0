// What is told of permits that nobody reports.

#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

class PermitStats : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(engine_.Install(OneBudget(RateBudget("b", 1e6, 1e9)), At(absl::Seconds(1))).ok());
  }

  PermitId Check(Now now) {
    CheckAnswer answer;
    EXPECT_TRUE(engine_.Check({.identity = "job:etl"}, now, answer).ok());
    EXPECT_NE(answer.permit, 0);
    return answer.permit;
  }

  Engine engine_{
      {.seed = 7, .permit_ttl = absl::Seconds(10), .max_permits = 64, .max_permit_share = 1}};
};

TEST_F(PermitStats, TellExpiredPermitsUntilTheyAreReported) {
  const PermitId first = Check(At(absl::Seconds(1)));
  Check(At(absl::Seconds(1)));
  EXPECT_EQ(engine_.ReadPermitStats(At(absl::Seconds(2))).live, 2);
  EXPECT_EQ(engine_.ReadPermitStats(At(absl::Seconds(2))).overdue, 0);
  EXPECT_EQ(engine_.ReadPermitStats(At(absl::Seconds(20))).live, 0);
  EXPECT_EQ(engine_.ReadPermitStats(At(absl::Seconds(20))).overdue, 2);
  EXPECT_TRUE(engine_.Report(first, {.cost = 1}, At(absl::Seconds(20))).ok());
  EXPECT_EQ(engine_.ReadPermitStats(At(absl::Seconds(20))).overdue, 1);
  EXPECT_EQ(engine_.ReadPermitStats(At(absl::Seconds(20))).abandoned, 0);
  EXPECT_EQ(engine_.ReadPermitStats(At(absl::Seconds(20))).capacity, 64);
}

TEST_F(PermitStats, CountThoseWhosePlaceWasNeeded) {
  for (int i = 0; i < 64; ++i) Check(At(absl::Seconds(1)));
  for (int i = 0; i < 10; ++i) Check(At(absl::Seconds(20)));
  const Engine::PermitStats stats = engine_.ReadPermitStats(At(absl::Seconds(20)));
  EXPECT_EQ(stats.abandoned, 10);
  EXPECT_EQ(stats.overdue, 54);
  EXPECT_EQ(stats.live, 10);
  EXPECT_EQ(stats.recycled_early, 0);
}

}  // namespace
}  // namespace headgate::engine
