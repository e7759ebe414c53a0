// What is read out of EXPLAIN, and what is refused.

#include "client/pqxx/statement_plan.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::client::internal {
namespace {

using ::testing::HasSubstr;

TEST(ParsePlan, FindsTotalCostAndQueryIdentifier) {
  const auto plan = ParsePlan(
      R"([{"Plan": {"Node Type": "ModifyTable", "Total Cost": 41.88,
                    "Plans": [{"Total Cost": 40.5}]}, "Query Identifier": -3416356442043621232}])");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->total_cost, 41.88);
  EXPECT_EQ(plan->query_id, "-3416356442043621232");
}

TEST(ParsePlan, TakesIdentifiersOfAll64Bits) {
  const auto plan =
      ParsePlan(R"([{"Plan": {"Total Cost": 0}, "Query Identifier": 18446744073709551615}])");
  EXPECT_EQ(plan->query_id, "18446744073709551615");
}

TEST(ParsePlan, DoesWithoutAQueryIdentifier) {
  const auto plan = ParsePlan(R"([{"Plan": {"Total Cost": 1}}])");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->query_id, std::nullopt);
}

TEST(ParsePlan, AddsUpWhatARuleMadeOfOneStatement) {
  const auto plan = ParsePlan(
      R"([{"Plan": {"Total Cost": 1.5}, "Query Identifier": 1}, "Utility Statement",
          {"Plan": {"Total Cost": 2}, "Query Identifier": 2}])");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->total_cost, 3.5);
  EXPECT_EQ(plan->query_id, "1");
}

TEST(ParsePlan, RefusesWhatIsNoPlan) {
  for (const char* const json :
       {"", "[", "{}", "null", "[]", "[1]", "[\"Utility Statement\"]", "[{\"Plan\": 1}]",
        "[{\"Plan\": {}}]", "[{\"Plan\": {\"Total Cost\": \"1\"}}]",
        "[{\"Plan\": {\"Total Cost\": -1}}]", "[{\"Plan\": {\"Total Cost\": 1e999}}]",
        "\xff\xfe"}) {
    const auto plan = ParsePlan(json);
    EXPECT_TRUE(absl::IsInvalidArgument(plan.status())) << json;
    EXPECT_THAT(plan.status().ToString(), HasSubstr("EXPLAIN gave no plan")) << json;
  }
}

TEST(ParsePlan, BearsDeepNesting) {
  EXPECT_FALSE(ParsePlan(std::string(100'000, '[')).ok());
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_FALSE(ParsePlan(deep).ok());
}

}  // namespace
}  // namespace headgate::client::internal
