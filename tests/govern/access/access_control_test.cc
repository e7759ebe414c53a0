// How callers are known by what their calls bring. That real calls bring it: tests/security.

#include "server/govern/access/access_control.h"

#include <string>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/govern/access/literal_evidence.h"

namespace headgate::access {
namespace {

using ::testing::ElementsAre;

constexpr char kBackfill[] = "URI:spiffe://prod/ns/jobs/sa/backfill";
constexpr char kSreToken[] = "sre-0123456789abcdef0123456789abcdef0123";
constexpr char kAuditorToken[] = "auditor-0123456789abcdef0123456789abcdef";

PolicySpec Policy() {
  return {.callers = {{.name = "backfill", .certificate = kBackfill, .identities = {"backfill"}},
                      {.name = "dba", .certificate = "DNS:dba.example", .identities = {"backfill"}},
                      {.name = "auditor", .token = "auditor", .identities = {"etl"}},
                      {.name = "sre", .token = "sre", .identities = {"*"}}}};
}

PolicySpec PolicyWithGuest() {
  PolicySpec spec = Policy();
  spec.callers.push_back({.name = "guest", .anybody = true, .identities = {"adhoc"}});
  return spec;
}

class AccessControlTest : public testing::Test {
 protected:
  AccessControlTest() {
    access_.SetTokens(BookOf(TokenLine("auditor", kAuditorToken) + TokenLine("sre", kSreToken)));
    access_.SetPolicy(Policy());
  }

  AccessControl::Refused Ask(const LiteralEvidence& call) {
    AccessControl::Refused refused = access_.Identify(call, asker_);
    EXPECT_EQ(refused.has_value(), asker_.caller == nullptr);
    return refused;
  }
  // The caller's name, or why there is none.
  std::string WhoIs(const LiteralEvidence& call) {
    const AccessControl::Refused refused = Ask(call);
    return refused.has_value() ? refused->code : asker_.caller->name();
  }
  std::string WhoIs(Literals literals) { return WhoIs(LiteralEvidence(std::move(literals))); }
  std::string WhoHas(const std::string& authorization, KnownConnection* connection = nullptr) {
    return WhoIs({.tls = true, .authorization = {authorization}, .connection = connection});
  }

  FakeClock clock_;
  std::vector<std::string> told_;  // "CODE caller peer"
  AccessControl access_{
      {.seed = 7,
       .on_refused =
           [this](const ToldRefusal& told) {
             told_.push_back(told.refusal.code + (" " + told.refusal.caller) + " " + told.peer);
           }},
      clock_};
  Asker asker_;
};

TEST_F(AccessControlTest, WithoutAPolicyNobodyIsKeptFromAnything) {
  access_.SetPolicy(std::nullopt);
  EXPECT_FALSE(access_.Identify(LiteralEvidence({.authorization = {"nonsense"}}), asker_));
  EXPECT_EQ(asker_.caller, nullptr);
  EXPECT_FALSE(access_.MayReadStatus(asker_));
}

TEST_F(AccessControlTest, WhoShowsNothingIsToldWhatItTakes) {
  const AccessControl::Refused refused = Ask(LiteralEvidence({.tls = true}));
  ASSERT_TRUE(refused.has_value());
  EXPECT_STREQ(refused->code, "NO_CALLER");
  EXPECT_EQ(refused->missing, "a client certificate or a token");
}

TEST_F(AccessControlTest, AnUnknownCertificateIsShownItsNames) {
  const LiteralEvidence call({.tls = true, .names = {"URI:a", "URI:b", "DNS:c", "DNS:d"}});
  const AccessControl::Refused refused = Ask(call);
  ASSERT_TRUE(refused.has_value());
  EXPECT_STREQ(refused->code, "UNKNOWN_CERTIFICATE");
  EXPECT_EQ(refused->text,
            "no caller is listed for this certificate, which has 'URI:a', 'URI:b', 'DNS:c', ...");
  EXPECT_EQ(refused->missing, "a client certificate or a token");
}

TEST_F(AccessControlTest, ACertificateIsWhoseOneOfItsNamesIs) {
  EXPECT_EQ(WhoIs({.tls = true, .names = {"URI:spiffe://x", kBackfill, "DNS:x"}}), "backfill");
  EXPECT_EQ(WhoIs({.tls = true, .names = {"DNS:DBA.example"}}), "dba");
  EXPECT_EQ(WhoIs({.tls = true, .names = {"URI:dba.example"}}), "UNKNOWN_CERTIFICATE");
}

TEST_F(AccessControlTest, ACertificateWithNamesOfTwoCallersIsNobodys) {
  const LiteralEvidence call({.tls = true, .names = {kBackfill, "DNS:dba.example"}});
  const AccessControl::Refused refused = Ask(call);
  ASSERT_TRUE(refused.has_value());
  EXPECT_STREQ(refused->code, "AMBIGUOUS_CERTIFICATE");
  EXPECT_EQ(refused->text, "the certificate has the names of two callers, 'backfill' and 'dba'");
}

TEST_F(AccessControlTest, AnAmbiguousCertificateIsRefusedOnEachCallOfItsConnection) {
  access_.SetPolicy(PolicyWithGuest());
  KnownConnection connection;
  const LiteralEvidence call({.tls = true,
                              .names = {kBackfill, "DNS:dba.example"},
                              .authorization = {Bearer(kSreToken)},
                              .connection = &connection});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(WhoIs(call), "AMBIGUOUS_CERTIFICATE");
}

TEST_F(AccessControlTest, ACertificateThatNobodyIsListedForMayComeWithAToken) {
  EXPECT_EQ(WhoIs({.tls = true, .names = {"URI:x"}, .authorization = {Bearer(kSreToken)}}), "sre");
  // But a known one is the caller, whatever token comes with it.
  EXPECT_EQ(WhoIs({.tls = true, .names = {kBackfill}, .authorization = {Bearer(kSreToken)}}),
            "backfill");
  EXPECT_EQ(WhoIs({.tls = true, .names = {kBackfill}, .authorization = {"nonsense"}}), "backfill");
}

TEST_F(AccessControlTest, ABadTokenIsNeverTakenForNone) {
  access_.SetPolicy(PolicyWithGuest());
  EXPECT_EQ(WhoIs({.tls = true}), "guest");
  EXPECT_EQ(WhoIs({.tls = true, .names = {"URI:spiffe://x"}}), "guest");
  for (const char* authorization :
       {"Bearer wrong-0123456789abcdef0123456789abcdef", "Bearer ", "Bearer", "",
        "Basic c3JlOng=", kSreToken, "Bearer  sre-0123456789abcdef0123456789abcdef0123",
        "Bearer sre-0123456789abcdef0123456789abcdef0123 ",
        "Bearer sre-0123456789abcdef0123456789abcdef012"}) {
    SCOPED_TRACE(authorization);
    EXPECT_EQ(WhoHas(authorization), "BAD_TOKEN");
  }
  EXPECT_EQ(WhoIs({.tls = true, .authorization = {Bearer(kSreToken), Bearer(kSreToken)}}),
            "BAD_TOKEN");
  EXPECT_EQ(WhoHas("bearer " + std::string(kSreToken)), "sre");
}

TEST_F(AccessControlTest, WithoutTlsATokenIsRefusedAndACertificateProvesNothing) {
  access_.SetPolicy(PolicyWithGuest());
  EXPECT_EQ(WhoIs({.authorization = {Bearer(kSreToken)}}), "TOKEN_WITHOUT_TLS");
  EXPECT_EQ(WhoIs({.names = {kBackfill}}), "guest");
  EXPECT_EQ(WhoIs(Literals{}), "guest");
}

TEST_F(AccessControlTest, WithoutTokensInThePolicyNoTokenIsLookedAt) {
  access_.SetPolicy(PolicySpec{.callers = {{.name = "guest", .anybody = true}}});
  EXPECT_EQ(WhoIs({.authorization = {"nonsense"}}), "guest");
}

TEST_F(AccessControlTest, AKnownConnectionsCertificateIsReadOnceForEachPolicy) {
  KnownConnection connection;
  const LiteralEvidence call({.tls = true, .names = {kBackfill}, .connection = &connection});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(WhoIs(call), "backfill");
  EXPECT_EQ(call.names_read, 1);
  PolicySpec spec = Policy();
  spec.callers[0].name = "renamed";
  access_.SetPolicy(spec);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(WhoIs(call), "renamed");
  EXPECT_EQ(call.names_read, 2);
}

TEST_F(AccessControlTest, NewTokensAreInForceForTheNextCallOnTheSameConnection) {
  KnownConnection connection;
  const std::string next = "next-0123456789abcdef0123456789abcdef";
  EXPECT_EQ(WhoHas(Bearer(kSreToken), &connection), "sre");
  EXPECT_EQ(WhoHas(Bearer(next), &connection), "BAD_TOKEN");
  access_.SetTokens(BookOf(TokenLine("sre", kSreToken) + TokenLine("sre", next)));
  EXPECT_EQ(WhoHas(Bearer(kSreToken), &connection), "sre");
  EXPECT_EQ(WhoHas(Bearer(next), &connection), "sre");
  access_.SetTokens(BookOf(TokenLine("sre", next)));
  EXPECT_EQ(WhoHas(Bearer(kSreToken), &connection), "BAD_TOKEN");
  EXPECT_EQ(WhoHas(Bearer(next), &connection), "sre");
}

// One connection may carry calls of many callers, as a proxy's does.
TEST_F(AccessControlTest, EachCallOnAConnectionHasItsOwnToken) {
  KnownConnection connection;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(WhoHas(Bearer(kSreToken), &connection), "sre");
    EXPECT_EQ(WhoHas(Bearer(kAuditorToken), &connection), "auditor");
    EXPECT_EQ(WhoIs({.tls = true, .connection = &connection}), "NO_CALLER");
  }
}

TEST_F(AccessControlTest, ARefusalTellsThePeerOfItsOwnCall) {
  const LiteralEvidence first({.tls = true, .names = {kBackfill}, .peer = "ipv4:10.0.0.1:1"});
  const LiteralEvidence second(
      {.tls = true, .names = {"DNS:dba.example"}, .peer = "ipv4:10.0.0.2:2"});
  Asker other;
  EXPECT_FALSE(access_.Identify(first, asker_));
  EXPECT_FALSE(access_.Identify(second, other));
  EXPECT_TRUE(access_.MayReadStatus(asker_));
  EXPECT_TRUE(access_.MayReadStatus(other));
  EXPECT_THAT(told_, ElementsAre("STATUS_NOT_GRANTED backfill ipv4:10.0.0.1:1",
                                 "STATUS_NOT_GRANTED dba ipv4:10.0.0.2:2"));
}

}  // namespace
}  // namespace headgate::access
