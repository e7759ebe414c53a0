#include "server/decide/approximate/uncharged_costs.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::approximate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kNsOfOneSecond = 1'000'000'000;

TEST(UnchargedCosts, AddsUpWhatIsAdmittedOfEachBucket) {
  UnchargedCosts costs(8);
  ASSERT_TRUE(
      costs.Add("orders", {.budget = "b", .bucket = 1, .cost = 30, .share = 10}, kNsOfOneSecond));
  ASSERT_TRUE(costs.Add("orders", {.budget = "b", .bucket = 1, .cost = 5, .share = 10},
                        2 * kNsOfOneSecond));
  ASSERT_TRUE(
      costs.Add("orders", {.budget = "b", .bucket = 3, .cost = 1, .share = 10}, kNsOfOneSecond));
  EXPECT_THAT(costs.Targets(), ElementsAre("orders"));
  const std::vector<UnchargedCost> taken = costs.Take("orders", 100, 2 * kNsOfOneSecond);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].budget, "b");
  EXPECT_EQ(taken[0].bucket, 1u);
  EXPECT_EQ(taken[0].cost, 35);
  EXPECT_EQ(taken[0].first_ns, kNsOfOneSecond);
  EXPECT_EQ(taken[1].bucket, 3u);
}

TEST(UnchargedCosts, KnowsWhatHasNotDrainedYet) {
  UnchargedCosts costs(8);
  ASSERT_TRUE(costs.Add("orders", {.budget = "b", .bucket = 1, .cost = 30, .share = 10}, 0));
  ASSERT_TRUE(
      costs.Add("orders", {.budget = "b", .bucket = 1, .cost = 5, .share = 10}, kNsOfOneSecond));
  const std::vector<UnchargedCost> taken = costs.Take("orders", 100, 2 * kNsOfOneSecond);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_NEAR(taken[0].undrained, 15, 1e-6);
}

TEST(UnchargedCosts, AreTakenOnceAndNoMoreThanWanted) {
  UnchargedCosts costs(8);
  for (uint64_t bucket = 1; bucket <= 3; ++bucket) {
    ASSERT_TRUE(costs.Add("orders", {.budget = "b", .bucket = bucket, .cost = 1, .share = 1}, 0));
  }
  EXPECT_EQ(costs.Take("orders", 2, 0).size(), 2u);
  EXPECT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs.Take("orders", 2, 0).size(), 1u);
  EXPECT_THAT(costs.Take("orders", 2, 0), IsEmpty());
  EXPECT_THAT(costs.Targets(), IsEmpty());
}

TEST(UnchargedCosts, BeyondTheirNumberAreRefused) {
  UnchargedCosts costs(1);
  EXPECT_TRUE(costs.Add("orders", {.budget = "b", .bucket = 1, .cost = 1, .share = 1}, 0));
  EXPECT_FALSE(costs.Add("billing", {.budget = "b", .bucket = 1, .cost = 1, .share = 1}, 0));
  EXPECT_TRUE(costs.Add("orders", {.budget = "b", .bucket = 1, .cost = 1, .share = 1}, 0));
  EXPECT_THAT(costs.Targets(), ElementsAre("orders"));
}

}  // namespace
}  // namespace headgate::approximate
