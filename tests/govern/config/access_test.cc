// Callers and grants: what is made of those that make sense.

#include <fstream>
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
using ::testing::Pair;

// The first line of what is said.
std::string FirstError(const std::string& yaml) {
  const LoadResult result = Parse(yaml, "f.yaml");
  const std::vector<std::string> errors = result.Errors();
  return errors.empty() ? "" : errors[0];
}

TEST(AccessLimits, ThereMayBeTenThousandCallers) {
  std::string yaml =
      "tls: {certificate_file: a, key_file: b, client_ca_file: c}\naccess:\n  callers:\n";
  const auto add = [&](int number) {
    absl::StrAppend(&yaml, "    - {name: c", number, ", certificate: \"DNS:c", number,
                    "\", status: true}\n");
  };
  for (int i = 0; i < 10'000; ++i) add(i);
  EXPECT_EQ(FirstError(yaml), "");
  add(10'000);
  EXPECT_EQ(FirstError(yaml), "f.yaml:4:5: there are 10001 callers; at most 10000");
}

TEST(AccessLimits, ACallerMayHaveAThousandGrantsOfAKind) {
  const auto with = [](int identities) {
    std::string yaml =
        "access:\n  callers:\n    - name: a\n      anybody: true\n      identities: [i0";
    for (int i = 1; i < identities; ++i) absl::StrAppend(&yaml, ", i", i);
    return FirstError(yaml + "]\n");
  };
  EXPECT_EQ(with(1000), "");
  EXPECT_EQ(with(1001), "f.yaml:5:19: has 1001 entries; at most 1000");
}

constexpr char kGood[] = R"(
tls: {certificate_file: a, key_file: b, client_ca_file: c}
rules:
  - {name: by tag, match: {tags: {urgent: "true", why: incident}}, exempt: true}
  - {name: by segment, match: {segment: vip}, exempt: true}
  - {name: no exemption, match: {segment: slow, tags: {a: b}}, deny: true}
access:
  token_file: FILE
  callers:
    - name: backfill
      certificate: "URI:spiffe://prod/backfill"
      identities: [backfill, "vreplication:online-ddl"]
      tags: ["urgent=true", "eq=a=b"]
      segments: [vip]
    - {name: sre, token: sre, identities: ["*"], overrides: true, logs: true, status: true}
    - {name: dashboards, anybody: true, status: true}
    - {name: emergency, certificate: "DNS:pager.example", everything: true}
    - {name: beside, certificate: "DNS:agent.example", agent: true}
    - name: dba
      certificate: "DNS:dba.example"
      identities: [etl]
      exempt_overrides: true
      costs: true
      forgive: true
)";

TEST(AccessConfig, IsReadAsItIsWritten) {
  const LoadResult loaded = Parse(kGood, "f.yaml");
  ASSERT_TRUE(loaded.config.has_value()) << loaded.status();
  const access::PolicySpec& spec = *loaded.config->access;
  EXPECT_EQ(spec.token_file, "FILE");
  ASSERT_EQ(spec.callers.size(), 6U);
  EXPECT_EQ(spec.callers[0].certificate, "URI:spiffe://prod/backfill");
  EXPECT_THAT(spec.callers[0].identities, ElementsAre("backfill", "vreplication:online-ddl"));
  EXPECT_THAT(spec.callers[0].tags, ElementsAre(Pair("urgent", "true"), Pair("eq", "a=b")));
  EXPECT_THAT(spec.callers[0].segments, ElementsAre("vip"));
  EXPECT_FALSE(spec.callers[0].overrides || spec.callers[0].logs || spec.callers[0].status);
  EXPECT_EQ(spec.callers[1].token, "sre");
  EXPECT_TRUE(spec.callers[1].overrides && spec.callers[1].logs && spec.callers[1].status);
  EXPECT_TRUE(spec.callers[2].anybody);
}

TEST(AccessConfig, EachRightOfAnOperatorIsAGrantOfItsOwn) {
  const LoadResult loaded = Parse(kGood, "f.yaml");
  ASSERT_TRUE(loaded.config.has_value()) << loaded.status();
  const std::vector<access::CallerSpec>& callers = loaded.config->access->callers;
  const access::CallerSpec& sre = callers[1];
  EXPECT_FALSE(sre.exempt_overrides || sre.everything || sre.costs || sre.forgive);
  EXPECT_TRUE(callers[3].everything);
  EXPECT_FALSE(callers[3].overrides || callers[3].exempt_overrides || callers[3].status);
  EXPECT_TRUE(callers[4].agent);
  EXPECT_FALSE(sre.agent || callers[4].status || callers[4].servers);
  const access::CallerSpec& dba = callers[5];
  EXPECT_TRUE(dba.exempt_overrides && dba.costs && dba.forgive);
  EXPECT_FALSE(dba.overrides || dba.everything);
}

TEST(AccessConfig, WhatRulesExemptByIsProtected) {
  const LoadResult loaded = Parse(kGood, "f.yaml");
  ASSERT_TRUE(loaded.config.has_value()) << loaded.status();
  EXPECT_THAT(loaded.config->access->protected_tags,
              ElementsAre(Pair("urgent", "true"), Pair("why", "incident")));
  EXPECT_THAT(loaded.config->access->protected_segments, ElementsAre("vip"));
}

// Such a rule takes the place of another one.
TEST(AccessConfig, WhatRulesSwitchOthersOffByIsProtected) {
  const LoadResult loaded = Parse(R"(
targets: [{name: t, primary: {dsn_env: DSN}}]
health_profiles:
  - {name: lax, signals: [{name: lock_waiters}]}
budgets: [{name: rows, rate: 1, burst: 1}]
rules:
  - {name: gate, match: {tags: {gate: lax}}, health: lax}
  - {name: gate by segment, match: {segment: night}, health: lax}
  - {name: narrow, match: {remote_address: 10.1.0.0/16, tags: {from: here}}, charge: [rows]}
  - {name: wide, match: {remote_address: 10.0.0.0/8}, charge: [rows]}
  - {name: tagged, match: {tags: {size: big}}, charge: [rows]}
access: {callers: [{name: a, anybody: true, status: true}]}
)",
                                  "f.yaml");
  ASSERT_TRUE(loaded.config.has_value()) << loaded.status();
  EXPECT_THAT(loaded.config->access->protected_tags,
              ElementsAre(Pair("gate", "lax"), Pair("from", "here")));
  EXPECT_THAT(loaded.config->access->protected_segments, ElementsAre("night"));
}

TEST(AccessConfig, WithoutItEverybodyMayDoEverything) {
  EXPECT_FALSE(Parse("{}", "f.yaml").config->access.has_value());
}

class TokenFile : public testing::Test {
 protected:
  LoadResult LoadWith(const std::string& tokens) {
    std::ofstream(folder_.File("tokens")) << tokens;
    std::string yaml = kGood;
    yaml.replace(yaml.find("FILE"), 4, folder_.File("tokens"));
    std::ofstream(folder_.File("f.yaml")) << yaml;
    return Load(folder_.File("f.yaml"));
  }
  const TempFolder folder_;
};

TEST_F(TokenFile, HasTheTokensOfCallers) {
  const std::string hash(64, 'a');
  EXPECT_TRUE(LoadWith("sre sha256:" + hash).config.has_value());
  const LoadResult dangling = LoadWith("sree sha256:" + hash);
  ASSERT_EQ(dangling.problems.size(), 1U);
  EXPECT_EQ(dangling.problems[0].at.line, 15);
  EXPECT_EQ(dangling.problems[0].text,
            "no token 'sre' in '" + folder_.File("tokens") + "'; did you mean 'sree'?");
}

TEST_F(TokenFile, OfWhichTheErrorsAreTold) {
  const LoadResult bad = LoadWith("# hi\nsre secret\n");
  ASSERT_EQ(bad.problems.size(), 1U);
  EXPECT_EQ(bad.problems[0].at.line, 8);
  EXPECT_EQ(bad.problems[0].text, folder_.File("tokens") +
                                      ":2: expected NAME sha256:HEX, HEX being 64 hexadecimal "
                                      "digits");
}

// A replay's configuration is a caller's: it must not be told what is in files of the server.
TEST_F(TokenFile, IsNotLookedIntoForTextOfACaller) {
  LoadWith("sree sha256:" + std::string(64, 'a'));
  std::string yaml = kGood;
  yaml.replace(yaml.find("FILE"), 4, folder_.File("tokens"));
  EXPECT_TRUE(Parse(yaml, "f.yaml").config.has_value());
}

}  // namespace
}  // namespace headgate::config
