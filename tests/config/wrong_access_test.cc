// Callers and grants: those that make no sense, and what is made of the others.

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/config/golden.h"
#include "tests/testing/temp_folder.h"

namespace headgate::config {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const WrongCase kCases[] = {
    {"AccessWithoutCallers", R"y(
access:
)y",
     R"e(
f.yaml:1:1: access without callers lets nobody in; list callers, or leave access out to let everybody do everything
)e"},
    {"UnknownKeys", R"y(
access:
  callers:
    - name: a
      anybody: true
      identitys: [etl]
      override: true
)y",
     R"e(
f.yaml:3:7: caller 'a' is granted nothing; give it identities or status
f.yaml:5:7: unknown key 'identitys'; did you mean 'identities'?
f.yaml:6:7: unknown key 'override'; did you mean 'overrides'?
)e"},
    {"CallerKnownByNothing", R"y(
access:
  callers:
    - name: a
      identities: [etl]
)y",
     R"e(
f.yaml:3:7: needs one of certificate, token or anybody
)e"},
    {"CallerKnownByTwo", R"y(
access:
  callers:
    - name: a
      anybody: true
      token: t
      identities: [etl]
)y",
     R"e(
f.yaml:5:7: only one of certificate, token or anybody may be given, and token is not the first
)e"},
    {"DuplicateCallers", R"y(
access:
  callers:
    - {name: a, anybody: true, identities: [etl]}
    - {name: a, anybody: true, identities: [etl]}
)y",
     R"e(
f.yaml:4:14: caller 'a' is defined twice, first in line 3
f.yaml:4:26: anybody is another caller's, in line 3
)e"},
    {"SameCertificateOrTokenTwice", R"y(
tls: {certificate_file: a, key_file: b, client_ca_file: c}
access:
  token_file: /nowhere
  callers:
    - {name: a, certificate: "DNS:A.example", identities: [etl]}
    - {name: b, certificate: "DNS:a.EXAMPLE", identities: [etl]}
    - {name: c, token: t, identities: [etl]}
    - {name: d, token: t, identities: [etl]}
)y",
     R"e(
f.yaml:6:30: certificate 'DNS:a.EXAMPLE' is another caller's, in line 5
f.yaml:8:24: token 't' is another caller's, in line 7
)e"},
    {"WithoutTls", R"y(
access:
  token_file: /nowhere
  callers:
    - {name: a, certificate: "DNS:a", identities: [etl]}
    - {name: b, token: t, identities: [etl]}
)y",
     R"e(
f.yaml:2:15: tokens are taken over TLS only, and there is no tls
f.yaml:4:30: a certificate is seen over TLS only, and there is no tls
)e"},
    {"WithoutWhatCallersAreVerifiedWith", R"y(
tls: {certificate_file: a, key_file: b}
access:
  callers:
    - {name: a, certificate: "DNS:a", identities: [etl]}
    - {name: b, token: t, identities: [etl]}
)y",
     R"e(
f.yaml:4:30: callers' certificates are verified with tls.client_ca_file, which is not set
f.yaml:5:24: a token is looked up in access.token_file, which is not set
)e"},
    {"BadNames", R"y(
tls: {certificate_file: a, key_file: b, client_ca_file: c}
access:
  token_file: /nowhere
  callers:
    - {name: a, certificate: "spiffe://a", identities: [etl]}
    - {name: b, certificate: "URI:", identities: [etl]}
    - {name: c, token: "a b", identities: [etl]}
    - {certificate: "URI:x", identities: [etl]}
)y",
     R"e(
f.yaml:5:30: certificate must be one of its alternative names, 'URI:spiffe://...' or 'DNS:...'; it is 'spiffe://a'
f.yaml:6:30: certificate must be one of its alternative names, 'URI:spiffe://...' or 'DNS:...'; it is 'URI:'
f.yaml:7:24: token is a name in the token file, never a token: 1 to 128 letters, digits, '_', '-', '.', '@' or '/'
f.yaml:8:7: a caller needs a name
)e"},
    {"BadGrants", R"y(
access:
  callers:
    - name: a
      anybody: true
      identities: ["etl:*", "a b"]
      tags: [urgent, "=x"]
      segments: ["a:b"]
)y",
     R"e(
f.yaml:5:20: identity has the byte '*' at position 4; allowed are A-Z a-z 0-9 _ - . @ / and, between segments, ':'; '*' stands alone, for any identity, and a level includes all below it
f.yaml:5:29: identity has the byte ' ' at position 1; allowed are A-Z a-z 0-9 _ - . @ / and, between segments, ':'
f.yaml:6:14: expected key=value, got 'urgent'
f.yaml:6:22: expected key=value, got '=x'
f.yaml:7:18: segment has the byte ':' at position 1; allowed are A-Z a-z 0-9 _ - . @ /
)e"},
    {"AnybodyIsTrueOrAbsent", R"y(
access:
  callers:
    - {name: a, anybody: false, identities: [etl]}
)y",
     R"e(
f.yaml:3:26: anybody: write true, or one of the others instead: certificate, token or anybody
)e"},
    {"EmptyGrants", R"y(
tls: {certificate_file: a, key_file: b}
access:
  token_file: /nowhere
  callers:
    - {name: a, anybody: true}
    - {name: b, token: t, overrides: true}
    - {name: c, token: c, exempt_overrides: true}
    - {name: d, token: d, costs: true}
    - {name: e, token: e, forgive: true}
)y",
     R"e(
f.yaml:5:7: caller 'a' is granted nothing; give it identities or status
f.yaml:6:7: caller 'b' is granted something for its identities, and has none
f.yaml:7:7: caller 'c' is granted something for its identities, and has none
f.yaml:8:7: caller 'd' is granted something for its identities, and has none
f.yaml:9:7: caller 'e' is granted something for its identities, and has none
)e"},
};

class WrongAccess : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongAccess, IsToldWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongAccess, testing::ValuesIn(kCases), NameOfCase);

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
  ASSERT_EQ(spec.callers.size(), 5U);
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
  const access::CallerSpec& dba = callers[4];
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
