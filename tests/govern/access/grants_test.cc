// What callers may, by their grants. That calls are asked for the right ones: tests/security.

#include <string>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "server/govern/access/access_control.h"
#include "tests/govern/access/literal_evidence.h"

namespace headgate::access {
namespace {

class GrantsTest : public testing::Test {
 protected:
  // Whoever calls is this caller.
  void Is(CallerSpec caller) {
    caller.anybody = true;
    access_.SetPolicy(PolicySpec{.callers = {caller}});
    EXPECT_FALSE(access_.Identify(call_, asker_).has_value());
  }
  // "CODE missing", or "" where it may.
  static std::string Text(const AccessControl::Refused& refused) {
    return refused.has_value() ? std::string(refused->code) + " " + refused->missing : "";
  }
  std::string Override(OverrideGrant grant, const char* identity) {
    return Text(access_.MayOverride(asker_, grant, identity, "selector.identity"));
  }
  uint64_t Counted(RefusalReason reason) { return access_.refusals()[static_cast<size_t>(reason)]; }

  FakeClock clock_;
  LiteralEvidence call_;
  AccessControl access_{{.seed = 7}, clock_};
  Asker asker_;
};

TEST_F(GrantsTest, OverridesAreToPauseThrottleAndResumeOnesOwn) {
  Is({.name = "ann", .identities = {"etl"}, .overrides = true});
  EXPECT_EQ(Override(OverrideGrant::kOverrides, "a:etl"), "");
  EXPECT_EQ(Override(OverrideGrant::kOverrides, "b"), "IDENTITY_NOT_GRANTED identity 'b'");
  EXPECT_EQ(Override(OverrideGrant::kOverrides, ""), "OVERRIDES_NOT_GRANTED identities: ['*']");
  EXPECT_EQ(Override(OverrideGrant::kExempt, "a:etl"),
            "EXEMPT_OVERRIDES_NOT_GRANTED exempt_overrides: true");
  EXPECT_EQ(Override(OverrideGrant::kEverything, ""), "EVERYTHING_NOT_GRANTED everything: true");
}

TEST_F(GrantsTest, ToExemptIsAGrantOfItsOwnForOnesOwn) {
  Is({.name = "ann", .identities = {"etl"}, .exempt_overrides = true});
  EXPECT_EQ(Override(OverrideGrant::kExempt, "a:etl"), "");
  EXPECT_EQ(Override(OverrideGrant::kExempt, "b"), "IDENTITY_NOT_GRANTED identity 'b'");
  EXPECT_EQ(Override(OverrideGrant::kExempt, ""), "EXEMPT_OVERRIDES_NOT_GRANTED identities: ['*']");
  EXPECT_EQ(Override(OverrideGrant::kOverrides, "a:etl"), "OVERRIDES_NOT_GRANTED overrides: true");
}

TEST_F(GrantsTest, AllIdentitiesAndAllOtherGrantsAreNotEverything) {
  Is({.name = "ann",
      .identities = {"*"},
      .overrides = true,
      .exempt_overrides = true,
      .costs = true,
      .forgive = true,
      .logs = true,
      .status = true});
  EXPECT_EQ(Override(OverrideGrant::kEverything, ""), "EVERYTHING_NOT_GRANTED everything: true");
  EXPECT_EQ(Counted(RefusalReason::kOverrides), 1U);
}

TEST_F(GrantsTest, EverythingTakesNoIdentitiesAndGivesNothingElse) {
  Is({.name = "ann", .everything = true});
  EXPECT_EQ(Override(OverrideGrant::kEverything, ""), "");
  EXPECT_EQ(Text(access_.MayOverride(asker_)), "");
  EXPECT_EQ(Override(OverrideGrant::kOverrides, "etl"), "OVERRIDES_NOT_GRANTED overrides: true");
  EXPECT_EQ(Override(OverrideGrant::kExempt, "etl"),
            "EXEMPT_OVERRIDES_NOT_GRANTED exempt_overrides: true");
}

TEST_F(GrantsTest, WhoHasNoneOfTheThreeMayNotOverrideAtAll) {
  Is({.name = "ann", .identities = {"*"}, .status = true});
  EXPECT_EQ(Text(access_.MayOverride(asker_)), "OVERRIDES_NOT_GRANTED overrides: true");
}

TEST_F(GrantsTest, CostsAreSeenAndForgottenForOnesOwnIdentities) {
  const auto may = [&](const char* identity) {
    return Text(access_.MayUseCosts(asker_, identity, "identity"));
  };
  Is({.name = "ann", .identities = {"etl"}, .costs = true});
  EXPECT_EQ(may("a:etl"), "");
  EXPECT_EQ(may("b"), "IDENTITY_NOT_GRANTED identity 'b'");
  EXPECT_EQ(may(""), "COSTS_NOT_GRANTED identities: ['*']");
  Is({.name = "ann", .identities = {"*"}, .forgive = true});
  EXPECT_EQ(may("a:etl"), "COSTS_NOT_GRANTED costs: true");
  EXPECT_EQ(Counted(RefusalReason::kCosts), 2U);
}

TEST_F(GrantsTest, DebtsAreForgivenForOnesOwnIdentities) {
  const auto may = [&](const char* identity) {
    return Text(access_.MayForgive(asker_, identity, "identity"));
  };
  Is({.name = "ann", .identities = {"etl"}, .forgive = true});
  EXPECT_EQ(may("a:etl"), "");
  EXPECT_EQ(may("b"), "IDENTITY_NOT_GRANTED identity 'b'");
  EXPECT_EQ(may(""), "FORGIVE_NOT_GRANTED identities: ['*']");
  Is({.name = "ann", .identities = {"*"}, .costs = true});
  EXPECT_EQ(may("a:etl"), "FORGIVE_NOT_GRANTED forgive: true");
  EXPECT_EQ(Counted(RefusalReason::kForgive), 2U);
}

TEST_F(GrantsTest, ToBeAnAgentIsAGrantOfItsOwn) {
  Is({.name = "beside", .agent = true});
  EXPECT_EQ(Text(access_.MayBeAgent(asker_)), "");
  EXPECT_EQ(Text(access_.MayReadStatus(asker_)), "STATUS_NOT_GRANTED status: true");
  EXPECT_EQ(Text(access_.MayArrangeServers(asker_)), "SERVERS_NOT_GRANTED servers: true");
  Is({.name = "ann",
      .identities = {"*"},
      .overrides = true,
      .everything = true,
      .status = true,
      .servers = true});
  EXPECT_EQ(Text(access_.MayBeAgent(asker_)), "AGENT_NOT_GRANTED agent: true");
  EXPECT_EQ(Counted(RefusalReason::kAgent), 1U);
}

TEST_F(GrantsTest, WhereAccessIsOffNothingIsKeptFromAnybody) {
  access_.SetPolicy(std::nullopt);
  EXPECT_FALSE(access_.Identify(call_, asker_).has_value());
  EXPECT_EQ(Override(OverrideGrant::kEverything, ""), "");
  EXPECT_EQ(Override(OverrideGrant::kExempt, ""), "");
  EXPECT_EQ(Text(access_.MayUseCosts(asker_, "", "")), "");
  EXPECT_EQ(Text(access_.MayForgive(asker_, "", "")), "");
  EXPECT_EQ(Text(access_.MayBeAgent(asker_)), "");
}

}  // namespace
}  // namespace headgate::access
