// Which rules match; compared with the obvious way of finding them in rule_set_random_test.cc.

#include "server/decide/engine/rule_set.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kSeed = 42;

// Rules that deny, one for each match, in this order.
PolicySpec Rules(const std::vector<MatchSpec>& matches) {
  PolicySpec spec;
  for (const MatchSpec& match : matches) {
    spec.rules.push_back(RuleOn("r" + std::to_string(spec.rules.size()), "", DenyAction{}));
    spec.rules.back().match = match;
  }
  return spec;
}

struct Who {
  std::string_view identity = "job:etl";
  std::vector<Tag> tags = {};
  std::string_view address = "";
  uint32_t target = 0;
  int64_t wall_ns = At().wall_ns;
};

std::vector<uint32_t> RulesFound(const PolicySpec& spec, const Who& who) {
  const RuleSet rules = RuleSet::Compile(spec, kSeed);
  Identity identity;
  EXPECT_TRUE(Identity::Parse(who.identity, kSeed, identity).ok());
  std::optional<IpAddress> address;
  if (!who.address.empty()) address = *IpAddress::Parse(who.address);
  return rules.FindAll({.identity = &identity,
                        .tags = who.tags,
                        .remote_address = address.has_value() ? &*address : nullptr,
                        .target = who.target,
                        .wall_ns = who.wall_ns});
}

MatchSpec OnIdentity(std::string identity) {
  MatchSpec match;
  match.identity = std::move(identity);
  return match;
}
MatchSpec OnSegment(std::string segment) {
  MatchSpec match;
  match.segment = std::move(segment);
  return match;
}
MatchSpec OnTags(std::vector<std::pair<std::string, std::string>> tags) {
  MatchSpec match;
  match.tags = std::move(tags);
  return match;
}
MatchSpec OnAddress(std::string prefix) {
  MatchSpec match;
  match.remote_address = std::move(prefix);
  return match;
}

TEST(RuleSet, IdentityMatchesThatLevelAndEverythingBelow) {
  const PolicySpec spec =
      Rules({OnIdentity("etl"), OnIdentity("job:etl"), OnIdentity("x:job:etl")});
  EXPECT_THAT(RulesFound(spec, {.identity = "etl"}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.identity = "job:etl"}), ElementsAre(0, 1));
  EXPECT_THAT(RulesFound(spec, {.identity = "y:x:job:etl"}), ElementsAre(0, 1, 2));
  EXPECT_THAT(RulesFound(spec, {.identity = "etl:job"}), IsEmpty());
}

TEST(RuleSet, IdentityDoesNotMatchPartOfASegment) {
  const PolicySpec spec = Rules({OnIdentity("etl"), OnIdentity("b:etl")});
  EXPECT_THAT(RulesFound(spec, {.identity = "myetl"}), IsEmpty());
  EXPECT_THAT(RulesFound(spec, {.identity = "job:etl"}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.identity = "etl2"}), IsEmpty());
}

TEST(RuleSet, SegmentMatchesWhereverItStands) {
  const PolicySpec spec = Rules({OnSegment("vcopier")});
  for (const std::string_view identity : {"vcopier", "vcopier:a", "a:vcopier", "a:vcopier:b"}) {
    EXPECT_THAT(RulesFound(spec, {.identity = identity}), ElementsAre(0)) << identity;
  }
  for (const std::string_view identity : {"vcopier2", "a:xvcopier:b", "copier", "VCOPIER"}) {
    EXPECT_THAT(RulesFound(spec, {.identity = identity}), IsEmpty()) << identity;
  }
}

TEST(RuleSet, SegmentThatStandsTwiceMatchesOnce) {
  EXPECT_THAT(RulesFound(Rules({OnSegment("a")}), {.identity = "a:b:a"}), ElementsAre(0));
}

TEST(RuleSet, AllTagsMustHold) {
  const PolicySpec spec =
      Rules({OnTags({{"team", "data"}}), OnTags({{"team", "data"}, {"env", "prod"}})});
  EXPECT_THAT(RulesFound(spec, {.tags = {{"team", "data"}}}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.tags = {{"env", "prod"}, {"x", "y"}, {"team", "data"}}}),
              ElementsAre(0, 1));
  EXPECT_THAT(RulesFound(spec, {.tags = {{"env", "prod"}}}), IsEmpty());
  EXPECT_THAT(RulesFound(spec, {.tags = {{"data", "team"}}}), IsEmpty());
  EXPECT_THAT(RulesFound(spec, {}), IsEmpty());
}

TEST(RuleSet, TagKeyAndValueAreNotRunTogether) {
  EXPECT_THAT(RulesFound(Rules({OnTags({{"ab", "c"}})}), {.tags = {{"a", "bc"}}}), IsEmpty());
}

TEST(RuleSet, LongestPrefixWins) {
  const PolicySpec spec =
      Rules({OnAddress("10.0.0.0/8"), OnAddress("10.1.0.0/16"), OnAddress("0.0.0.0/0")});
  EXPECT_THAT(RulesFound(spec, {.address = "10.1.2.3"}), ElementsAre(1));
  EXPECT_THAT(RulesFound(spec, {.address = "10.2.2.3"}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.address = "192.0.2.1"}), ElementsAre(2));
  EXPECT_THAT(RulesFound(spec, {}), IsEmpty());
}

TEST(RuleSet, LongestPrefixWinsForSixToo) {
  const PolicySpec spec =
      Rules({OnAddress("2001:db8::/32"), OnAddress("2001:db8:1::/48"), OnAddress("::/0")});
  EXPECT_THAT(RulesFound(spec, {.address = "2001:db8:1::7"}), ElementsAre(1));
  EXPECT_THAT(RulesFound(spec, {.address = "2001:db8:2::7"}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.address = "2001:db9::7"}), ElementsAre(2));
  EXPECT_THAT(RulesFound(spec, {.address = "10.0.0.1"}), IsEmpty());
}

TEST(RuleSet, TwoRulesOfTheLongestPrefixBothApply) {
  const PolicySpec spec =
      Rules({OnAddress("10.1.0.0/16"), OnAddress("10.1.0.0/16"), OnAddress("10.0.0.0/8")});
  EXPECT_THAT(RulesFound(spec, {.address = "10.1.2.3"}), ElementsAre(0, 1));
}

TEST(RuleSet, LongerPrefixOfARuleThatDoesNotHoldDoesNotCount) {
  PolicySpec spec = Rules({OnAddress("10.0.0.0/8"), OnAddress("10.1.0.0/16")});
  spec.rules[1].match.identity = "other";
  EXPECT_THAT(RulesFound(spec, {.address = "10.1.2.3"}), ElementsAre(0));
}

TEST(RuleSet, PrefixesDoNotHideRulesWithoutOne) {
  const PolicySpec spec = Rules({OnIdentity("etl"), OnAddress("10.0.0.0/8")});
  EXPECT_THAT(RulesFound(spec, {.address = "10.1.2.3"}), ElementsAre(0, 1));
}

TEST(RuleSet, TargetMustBeTheOne) {
  PolicySpec spec = Rules({OnIdentity("etl"), OnIdentity("etl")});
  spec.targets.resize(2);
  spec.targets[0].name = "db1";
  spec.targets[1].name = "db2";
  spec.rules[1].match.target = "db2";
  EXPECT_THAT(RulesFound(spec, {.target = 0}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.target = 1}), ElementsAre(0, 1));
}

TEST(RuleSet, ScheduleMustBeActive) {
  PolicySpec spec = Rules({OnIdentity("etl")});
  // Thursday, 08:00 to 09:00.
  spec.rules[0].match.schedule = ScheduleSpec{
      .windows = {{.days = 0b0001000, .start_minute = 480, .end_minute = 540}}, .time_zone = "UTC"};
  EXPECT_THAT(RulesFound(spec, {.wall_ns = At(absl::Hours(8)).wall_ns - 1}), IsEmpty());
  EXPECT_THAT(RulesFound(spec, {.wall_ns = At(absl::Hours(8)).wall_ns}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.wall_ns = At(absl::Hours(9)).wall_ns}), IsEmpty());
  EXPECT_THAT(RulesFound(spec, {.wall_ns = At(absl::Hours(32)).wall_ns}), IsEmpty());
}

TEST(RuleSet, ExpiredRuleIsGone) {
  PolicySpec spec = Rules({OnIdentity("etl")});
  spec.rules[0].expires_at = At(absl::Hours(1)).wall();
  EXPECT_THAT(RulesFound(spec, {.wall_ns = At(absl::Hours(1)).wall_ns - 1}), ElementsAre(0));
  EXPECT_THAT(RulesFound(spec, {.wall_ns = At(absl::Hours(1)).wall_ns}), IsEmpty());
}

TEST(RuleSet, RuleWithoutConditionsAlwaysMatches) {
  EXPECT_THAT(RulesFound(Rules({MatchSpec{}}), {.identity = "anything"}), ElementsAre(0));
}

TEST(RuleSet, AllConditionsMustHoldTogether) {
  MatchSpec all = OnIdentity("etl");
  all.segment = "job";
  all.tags = {{"k", "v"}};
  all.remote_address = "10.0.0.0/8";
  const PolicySpec spec = Rules({all});
  const Who who = {.identity = "job:etl", .tags = {{"k", "v"}}, .address = "10.0.0.1"};
  EXPECT_THAT(RulesFound(spec, who), ElementsAre(0));
  Who other = who;
  other.identity = "jobs:etl";
  EXPECT_THAT(RulesFound(spec, other), IsEmpty());
  other = who;
  other.tags = {{"k", "w"}};
  EXPECT_THAT(RulesFound(spec, other), IsEmpty());
  other = who;
  other.address = "11.0.0.1";
  EXPECT_THAT(RulesFound(spec, other), IsEmpty());
  other = who;
  other.identity = "job:elt";
  EXPECT_THAT(RulesFound(spec, other), IsEmpty());
}

TEST(RuleSet, FindsManyRulesUnderOneSelector) {
  const PolicySpec spec = Rules(std::vector<MatchSpec>(1000, OnIdentity("etl")));
  EXPECT_EQ(RulesFound(spec, {.identity = "job:etl"}).size(), 1000U);
}

TEST(RuleSet, KnowsTheNamesOfItsRules) {
  const RuleSet rules = RuleSet::Compile(Rules({OnIdentity("a"), OnIdentity("b")}), kSeed);
  EXPECT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules.name(1), "r1");
}

TEST(RuleSet, TellsHowLongARuleApplies) {
  PolicySpec spec = Rules({OnIdentity("a"), OnIdentity("b"), OnIdentity("c")});
  spec.rules[1].expires_at = At(absl::Hours(3)).wall();
  spec.rules[2].expires_at = At(absl::Hours(3)).wall();
  spec.rules[2].match.schedule = ScheduleSpec{
      .windows = {{.days = 0b0001000, .start_minute = 0, .end_minute = 60}}, .time_zone = "UTC"};
  const RuleSet rules = RuleSet::Compile(spec, kSeed);
  EXPECT_EQ(rules.AppliesUntil(0, At().wall()), absl::InfiniteFuture());
  EXPECT_EQ(rules.AppliesUntil(1, At().wall()), At(absl::Hours(3)).wall());
  EXPECT_EQ(rules.AppliesUntil(2, At().wall()), At(absl::Hours(1)).wall());
}

}  // namespace
}  // namespace headgate::engine
