// What somebody may have meant who spelled an identity with other capitals.

#include "server/govern/config/identity_names.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::config {
namespace {

class IdentityNamesTest : public ::testing::Test {
 protected:
  IdentityNamesTest() {
    names_.AddIdentity("etl", "all etl");
    names_.AddIdentity("nightly:etl", "the nightly one");
    names_.AddIdentity("vreplication:online-ddl", "schema changes");
    names_.AddSegment("vcopier", "copies");
  }

  // Empty: nothing.
  std::string Meant(std::string_view identity) const {
    const auto meaning = names_.MeantBy(identity);
    return meaning.has_value() ? absl::StrCat(meaning->meant, " by ", meaning->rule) : "";
  }

  IdentityNames names_;
};

TEST_F(IdentityNamesTest, AJobUnderARootOfOtherCapitalsMeansThatRoot) {
  EXPECT_EQ(Meant("ETL"), "etl by all etl");
  EXPECT_EQ(Meant("job-7:Etl"), "job-7:etl by all etl");
  EXPECT_EQ(Meant("JOB-7:ETL"), "JOB-7:etl by all etl");
}

TEST_F(IdentityNamesTest, TheLongestLevelThatARuleIsForSaysMost) {
  EXPECT_EQ(Meant("a:NIGHTLY:etl"), "a:nightly:etl by the nightly one");
  EXPECT_EQ(Meant("Nightly:ETL"), "nightly:etl by the nightly one");
  EXPECT_EQ(Meant("x:VReplication:Online-DDL"), "x:vreplication:online-ddl by schema changes");
}

TEST_F(IdentityNamesTest, ASegmentCountsWhereverItStands) {
  EXPECT_EQ(Meant("d1:VCopier:backfill"), "d1:vcopier:backfill by copies");
  EXPECT_EQ(Meant("VCOPIER"), "vcopier by copies");
}

// A rule for it may ask for a tag as well: that is no matter of capitals.
TEST_F(IdentityNamesTest, WhatIsSpelledAsTheRuleIsMeansNothingElse) {
  EXPECT_EQ(Meant("job-7:etl"), "");
  EXPECT_EQ(Meant("d1:vcopier:backfill"), "");
}

TEST_F(IdentityNamesTest, WhatNoRuleIsForInAnySpellingMeansNothing) {
  EXPECT_EQ(Meant("report"), "");
  EXPECT_EQ(Meant("etl:report"), "");
  EXPECT_EQ(Meant("Online-DDL"), "");  // a rule is for something below it
  EXPECT_EQ(Meant(""), "");
  EXPECT_EQ(Meant(":"), "");
  EXPECT_EQ(Meant("*"), "");
}

TEST_F(IdentityNamesTest, RulesForBothSpellingsMeanWhatTheySay) {
  names_.AddIdentity("ETL", "the other one");
  EXPECT_EQ(Meant("job:ETL"), "");
  EXPECT_EQ(Meant("job:etl"), "");
  EXPECT_EQ(Meant("job:Etl"), "job:etl by all etl");
}

TEST_F(IdentityNamesTest, KnowsOnlySoMany) {
  IdentityNames names;
  for (size_t i = 0; i <= IdentityNames::kMost; ++i) names.AddIdentity(absl::StrCat("a", i), "r");
  EXPECT_TRUE(names.MeantBy("A0").has_value());
  EXPECT_TRUE(names.MeantBy(absl::StrCat("A", IdentityNames::kMost - 1)).has_value());
  EXPECT_FALSE(names.MeantBy(absl::StrCat("A", IdentityNames::kMost)).has_value());
}

}  // namespace
}  // namespace headgate::config
