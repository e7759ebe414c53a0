// What a configuration is warned of: it is valid, and probably not meant so.

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config/load.h"
#include "tests/testing/temp_folder.h"

namespace headgate::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> WarningsOf(std::string_view yaml,
                                    OtherFiles other_files = OtherFiles::kIgnored) {
  const LoadResult loaded =
      Parse(yaml, "f.yaml", other_files, absl::FromUnixSeconds(1'767'225'600));
  EXPECT_THAT(loaded.Errors(), IsEmpty());
  return loaded.Warnings();
}

TEST(ConfigWarnings, NothingIsWrongWithAPolicyThatIsMeantSo) {
  EXPECT_THAT(WarningsOf("budgets: [{name: b, rate: 10, burst: 100, max_cost: 100}]\n"
                         "rules: [{name: r, charge: [b], expires_at: 2030-01-01T00:00:00Z}]"),
              IsEmpty());
}

TEST(ConfigWarnings, OfABudgetThatNobodyCharges) {
  EXPECT_THAT(WarningsOf("budgets:\n- {name: used, max_cost: 5}\n- {name: unused, max_cost: 5}\n"
                         "- {name: off, max_cost: 5, mode: DISABLED}\n"
                         "rules: [{name: r, charge: [used]}]"),
              ElementsAre("f.yaml:3:10: no rule charges budget 'unused': it limits nothing"));
}

TEST(ConfigWarnings, OfARuleThatHasExpired) {
  EXPECT_THAT(WarningsOf("rules:\n- {name: old, deny: true, expires_at: 2020-01-01T00:00:00Z}\n"
                         "- {name: new, deny: true, expires_at: 2030-01-01T00:00:00Z}"),
              ElementsAre("f.yaml:2:39: rule 'old' has expired: it matches nothing"));
}

TEST(ConfigWarnings, OfMaxCostAboveTheBurst) {
  EXPECT_THAT(WarningsOf("budgets: [{name: b, rate: 10, burst: 100, max_cost: 500}]\n"
                         "rules: [{name: r, charge: [b]}]"),
              ElementsAre("f.yaml:1:53: budget 'b': max_cost of 500 is above the burst of 100 cost "
                          "units: a Check that costs more than the burst is never admitted, "
                          "whatever max_cost says"));
}

// However many targets there are, it is one mistake in one line of the file.
TEST(ConfigWarnings, OfMaxCostAboveTheBurstOnce) {
  EXPECT_THAT(WarningsOf("targets: [{name: a}, {name: b}, {name: c}]\n"
                         "budgets: [{name: b, rate: 10, burst: 100, max_cost: 500}]\n"
                         "rules: [{name: r, charge: [b]}]"),
              ElementsAre("f.yaml:2:53: budget 'b': max_cost of 500 is above the burst of 100 cost "
                          "units: a Check that costs more than the burst is never admitted, "
                          "whatever max_cost says"));
}

TEST(ConfigWarnings, OfMaxCostAboveTheBurstOfSomeTargets) {
  EXPECT_THAT(WarningsOf("targets: [{name: a, capacity: 100}, {name: b, capacity: 10000},\n"
                         "          {name: c, capacity: 200}]\n"
                         "budgets: [{name: b, rate: 10%, burst: 10s, max_cost: 500}]\n"
                         "rules: [{name: r, charge: [b]}]"),
              ElementsAre("f.yaml:3:54: budget 'b': max_cost of 500 is above the burst on target "
                          "'a' (100 cost units), 'c' (200 cost units): a Check that costs more "
                          "than the burst is never admitted there, whatever max_cost says"));
}

TEST(ConfigWarnings, OfMaxCostAboveTheBurstOfManyTargetsNamesThree) {
  const std::string target = ", capacity: 100}, ";
  EXPECT_THAT(WarningsOf(absl::StrCat("targets: [{name: a", target, "{name: b", target, "{name: c",
                                      target, "{name: d", target, "{name: e", target,
                                      "{name: f, capacity: 100000}]\n",
                                      "budgets: [{name: b, rate: 10%, burst: 10s, max_cost: 500}]\n"
                                      "rules: [{name: r, charge: [b]}]")),
              ElementsAre("f.yaml:2:54: budget 'b': max_cost of 500 is above the burst on target "
                          "'a' (100 cost units), 'b' (100 cost units), 'c' (100 cost units) and 2 "
                          "more: a Check that costs more than the burst is never admitted there, "
                          "whatever max_cost says"));
}

TEST(ConfigWarnings, OfMaxCostAboveTheBurstInTheBudgetsOwnUnit) {
  EXPECT_THAT(WarningsOf("budgets: [{name: b, unit: BUSY_TIME, rate: 2, burst: 10, max_cost: 50}]\n"
                         "rules: [{name: r, charge: [b]}]"),
              ElementsAre(testing::HasSubstr("is above the burst of 10 busy seconds: ")));
}

TEST(ConfigWarnings, OfWordsInConnectionStringsThatLibpqDoesNotKnow) {
  TempFolder folder;
  folder.WriteInPlace("dsn", "host=db sslmod=require password='a b=c'");
  const std::string yaml =
      absl::StrCat("targets: [{name: t, primary: {dsn_file: \"", folder.File("dsn"), "\"}}]");
  const std::vector<std::string> warnings = WarningsOf(yaml, OtherFiles::kRead);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_THAT(warnings[0], testing::HasSubstr("the connection string has a keyword that libpq does "
                                              "not know; did you mean sslmode?"));
  EXPECT_THAT(WarningsOf(yaml), IsEmpty());  // a caller's text: not looked into
  folder.WriteInPlace("dsn", "postgresql://u:p=q@db/app?sslmode=require&connect_timeout=2");
  EXPECT_THAT(WarningsOf(yaml, OtherFiles::kRead), IsEmpty());
}

TEST(ConfigWarnings, AWrongWordInADsnIsAnErrorThatSaysSo) {
  const LoadResult loaded =
      Parse("targets: [{name: t, primary: {dsn: 'host=db sslmod=require'}}]", "f.yaml");
  ASSERT_EQ(loaded.problems.size(), 1);
  EXPECT_EQ(loaded.problems[0].text,
            "dsn has a keyword that libpq does not know; did you mean sslmode?");
}

}  // namespace
}  // namespace headgate::config
