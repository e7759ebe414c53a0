// What a configuration is warned of: it is valid, and probably not meant so.

#include <libpq-fe.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/govern/config/load.h"
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

TEST(ConfigWarnings, OfABudgetThatARuleChargesTwice) {
  EXPECT_THAT(WarningsOf("budgets: [{name: a, max_cost: 5}, {name: b, max_cost: 5}]\n"
                         "rules: [{name: r, charge: [a, b, a, a]}, {name: s, charge: [a]}]"),
              ElementsAre("f.yaml:2:34: rule 'r' charges budget 'a' already: a Check is charged to "
                          "it once",
                          "f.yaml:2:37: rule 'r' charges budget 'a' already: a Check is charged to "
                          "it once"));
}

TEST(ConfigWarnings, OfIdentitiesThatDifferInCapitalsAlone) {
  EXPECT_THAT(WarningsOf("rules:\n- {name: a, match: {identity: etl}, deny: true}\n"
                         "- {name: b, match: {identity: ETL}, deny: true}\n"
                         "- {name: c, match: {identity: ETL}, priority: 1}\n"
                         "- {name: d, match: {identity: \"nightly:Etl\"}, priority: 1}\n"
                         "- {name: e, match: {identity: etl2}, priority: 1}"),
              ElementsAre("f.yaml:3:31: rule 'b' is for 'ETL', and rule 'a' for 'etl': identities "
                          "are case-sensitive, and these are two",
                          "f.yaml:5:31: rule 'd' is for 'Etl', and rule 'a' for 'etl': identities "
                          "are case-sensitive, and these are two"));
}

TEST(ConfigWarnings, OfTheRootBelowWhichARuleIsForSomething) {
  EXPECT_THAT(WarningsOf("rules:\n- {name: a, match: {identity: \"nightly:ETL\"}, deny: true}\n"
                         "- {name: b, match: {identity: etl}, deny: true}"),
              ElementsAre("f.yaml:3:31: rule 'b' is for 'etl', and rule 'a' for 'ETL': identities "
                          "are case-sensitive, and these are two"));
}

TEST(ConfigWarnings, OfSegmentsThatDifferInCapitalsAlone) {
  EXPECT_THAT(WarningsOf("rules:\n- {name: a, match: {segment: vcopier}, deny: true}\n"
                         "- {name: b, match: {identity: \"VCopier:online-ddl\"}, priority: 1}\n"
                         "- {name: c, match: {segment: VCOPIER}, priority: 1}\n"
                         "- {name: d, match: {identity: \"VCopier:backfill\"}, priority: 1}"),
              ElementsAre("f.yaml:3:31: rule 'b' is for 'VCopier', and rule 'a' for 'vcopier': "
                          "identities are case-sensitive, and these are two",
                          "f.yaml:4:30: rule 'c' is for 'VCOPIER', and rule 'a' for 'vcopier': "
                          "identities are case-sensitive, and these are two"));
}

TEST(ConfigWarnings, OfACallerWhoseJobsNoRuleWouldMatchForCapitals) {
  EXPECT_THAT(WarningsOf("rules: [{name: a, match: {identity: etl}, deny: true}]\n"
                         "access: {callers: [{name: x, anybody: true,\n"
                         "  identities: [report, \"*\", \"job:ETL\"]}]}"),
              ElementsAre("f.yaml:3:29: caller 'x' may speak for 'ETL', and rule 'a' is for 'etl': "
                          "identities are case-sensitive, and these are two"));
}

// What has expired matches nothing in any spelling.
TEST(ConfigWarnings, OfNoCapitalsOfARuleThatHasExpired) {
  EXPECT_THAT(WarningsOf("rules:\n- {name: a, match: {identity: etl}, deny: true,"
                         " expires_at: 2020-01-01T00:00:00Z}\n"
                         "- {name: b, match: {identity: ETL}, deny: true}"),
              ElementsAre(::testing::HasSubstr("rule 'a' has expired")));
}

TEST(ConfigWarnings, OfStandbysThatNothingTellsApart) {
  EXPECT_THAT(WarningsOf("targets:\n"
                         "- name: t\n"
                         "  primary: {dsn_env: DSN}\n"
                         "  standbys:\n"
                         "  - {name: a, application_name: 15/main}\n"
                         "  - {name: b, application_name: 15/main}\n"
                         "  - {name: c, application_name: 15/main, slot: c}\n"
                         "  - {name: d, application_name: 15/main, client_address: 10.0.0.4}\n"
                         "  - {name: e, slot: c}\n"),
              ElementsAre("f.yaml:6:33: nothing tells it from standby 'a': where one of them is "
                          "missing nobody knows which; give each its slot or client_address"));
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

TEST(ConfigWarnings, OfAFileOfPasswordsThatLibpqPassesOver) {
  TempFolder folder;
  folder.WriteInPlace("passwords", "*:*:*:*:secret");
  std::filesystem::permissions(folder.File("passwords"), std::filesystem::perms(0640));
  const std::string dsn = absl::StrCat("host=db passfile=", folder.File("passwords"));
  folder.WriteInPlace("dsn", dsn);
  for (const std::string& source : {absl::StrCat("dsn: \"", dsn, "\""),
                                    absl::StrCat("dsn_file: \"", folder.File("dsn"), "\"")}) {
    const std::string yaml = absl::StrCat("targets: [{name: t, primary: {", source, "}}]");
    EXPECT_THAT(WarningsOf(yaml, OtherFiles::kRead),
                ElementsAre(testing::HasSubstr("/passwords is not read: its mode is 0640")));
    EXPECT_THAT(WarningsOf(yaml), IsEmpty());
  }
  // One that is not there may be where the server runs.
  EXPECT_THAT(WarningsOf("targets: [{name: t, primary: {dsn: host=db passfile=/nowhere/x}}]",
                         OtherFiles::kRead),
              IsEmpty());
}

TEST(ConfigWarnings, WhatThisLibpqIsTooOldForIsAnErrorThatSaysSo) {
  if (PQlibVersion() >= 160000) GTEST_SKIP() << "this libpq knows the system's certificates";
  const LoadResult loaded =
      Parse("targets: [{name: t, primary: {dsn: 'host=db sslrootcert=system'}}]", "f.yaml");
  ASSERT_EQ(loaded.problems.size(), 1);
  EXPECT_THAT(loaded.problems[0].text, testing::HasSubstr("takes libpq 16 or newer"));
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
