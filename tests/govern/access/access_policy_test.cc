#include "server/govern/access/access_policy.h"

#include "gtest/gtest.h"

namespace headgate::access {
namespace {

PolicySpec OneCaller(CallerSpec caller) {
  caller.anybody = true;
  return {.callers = {std::move(caller)}};
}

TEST(Caller, SpeaksForItsLevelsAndAllBelow) {
  const AccessPolicy policy(
      OneCaller({.name = "c", .identities = {"backfill", "vreplication:online-ddl"}}), 7);
  const Caller& caller = *policy.anybody();
  for (const char* identity : {"backfill", "orders:backfill", "a:b:c:d:e:f:g:backfill",
                               "vreplication:online-ddl", "x:vreplication:online-ddl"}) {
    EXPECT_TRUE(caller.MaySpeakFor(identity)) << identity;
  }
  for (const char* identity :
       {"", ":", "online-ddl", "hot-backfill", "hotbackfill", "backfill:other",
        "backfill:", ":backfill:", "xvreplication:online-ddl", "Backfill", "*"}) {
    EXPECT_FALSE(caller.MaySpeakFor(identity)) << identity;
  }
}

TEST(Caller, StarIsAnyIdentity) {
  const AccessPolicy policy(OneCaller({.name = "c", .identities = {"*"}}), 7);
  EXPECT_TRUE(policy.anybody()->MaySpeakForAll());
  EXPECT_TRUE(policy.anybody()->MaySpeakFor("a:b"));
  EXPECT_TRUE(policy.anybody()->MaySpeakFor(""));
}

TEST(Caller, WithoutGrantsMayDoNothing) {
  const AccessPolicy policy(OneCaller({.name = "c"}), 7);
  const Caller& caller = *policy.anybody();
  EXPECT_FALSE(caller.MaySpeakFor("a"));
  EXPECT_FALSE(caller.MayTag("a", "b"));
  EXPECT_FALSE(caller.MayUseSegment("a"));
  EXPECT_FALSE(caller.overrides() || caller.logs() || caller.status());
}

TEST(Caller, TheLongestSelectorThatFitsIsGranted) {
  const AccessPolicy policy(OneCaller({.name = "c", .identities = {"ddl", "b:ddl"}}), 7);
  EXPECT_EQ(policy.anybody()->GrantedBytes("a:b:ddl"), 5U);
  EXPECT_EQ(policy.anybody()->GrantedBytes("a:c:ddl"), 3U);
  EXPECT_EQ(policy.anybody()->GrantedBytes("a:c"), 0U);
}

TEST(Caller, LooksAtNoMoreThanAnIdentityMayHave) {
  const AccessPolicy policy(OneCaller({.name = "c", .identities = {"ddl"}}), 7);
  EXPECT_FALSE(policy.anybody()->MaySpeakFor(std::string(1 << 20, 'a') + ":ddl"));
  EXPECT_TRUE(policy.anybody()->MaySpeakFor(std::string(500, 'a') + ":ddl"));
}

TEST(AccessPolicy, KnowsCallersByWhatTheyAreListedFor) {
  const AccessPolicy policy({.callers = {{.name = "a", .certificate = "URI:spiffe://A"},
                                         {.name = "b", .certificate = "DNS:Jobs.Example"},
                                         {.name = "c", .token = "t"}}},
                            7);
  EXPECT_EQ(policy.ByCertificate("URI:spiffe://A")->name(), "a");
  EXPECT_EQ(policy.ByCertificate("URI:spiffe://a"), nullptr);
  EXPECT_EQ(policy.ByCertificate("DNS:spiffe://A"), nullptr);
  EXPECT_EQ(policy.ByCertificate("DNS:jobs.EXAMPLE")->name(), "b");
  EXPECT_EQ(policy.ByCertificate("URI:jobs.example"), nullptr);
  EXPECT_EQ(policy.ByCertificate(std::string_view("DNS:jobs.example\0.evil", 22)), nullptr);
  EXPECT_EQ(policy.ByToken("t")->name(), "c");
  EXPECT_EQ(policy.ByToken("c"), nullptr);
  EXPECT_EQ(policy.ByToken(""), nullptr);
  EXPECT_EQ(policy.anybody(), nullptr);
}

TEST(AccessPolicy, WildcardsInACertificateAreNoWildcards) {
  const AccessPolicy policy({.callers = {{.name = "a", .certificate = "DNS:jobs.example"}}}, 7);
  EXPECT_EQ(policy.ByCertificate("DNS:*.example"), nullptr);
}

TEST(AccessPolicy, AProtectedSegmentTakesAGrantOrASelectorThatHasIt) {
  PolicySpec spec =
      OneCaller({.name = "c", .identities = {"ddl", "vip:etl"}, .segments = {"night"}});
  spec.protected_segments = {"vip", "night"};
  const AccessPolicy policy(spec, 7);
  const Caller& caller = *policy.anybody();
  const auto foreign = [&](std::string_view identity) {
    return policy.ForeignSegment(caller, identity, caller.GrantedBytes(identity));
  };
  EXPECT_EQ(foreign("vip:ddl"), "vip");
  EXPECT_EQ(foreign("a:vip:b:ddl"), "vip");
  EXPECT_EQ(foreign("vip:vip:etl"), "vip");
  EXPECT_EQ(foreign("vip:etl"), "");
  EXPECT_EQ(foreign("a:vip:etl"), "");
  EXPECT_EQ(foreign("night:ddl"), "");
  EXPECT_EQ(foreign("vips:ddl"), "");
  EXPECT_EQ(foreign("ddl"), "");
}

TEST(AccessPolicy, ATagIsProtectedByKeyAndValue) {
  PolicySpec spec = OneCaller({.name = "c", .identities = {"*"}, .tags = {{"a", "b=c"}}});
  spec.protected_tags = {{"a", "b=c"}, {"a=b", "c"}};
  const AccessPolicy policy(spec, 7);
  EXPECT_TRUE(policy.protected_tags().Contains("a", "b=c"));
  EXPECT_FALSE(policy.protected_tags().Contains("a", "b"));
  EXPECT_TRUE(policy.anybody()->MayTag("a", "b=c"));
  EXPECT_FALSE(policy.anybody()->MayTag("a=b", "c"));
}

}  // namespace
}  // namespace headgate::access
