// Rules through the engine: exempt, deny, reject ratio, priority, schedules and expiry.

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

constexpr int kRolls = 100'000;

int Rejections(TestEngine& engine, std::string_view identity) {
  int rejected = 0;
  for (int i = 0; i < kRolls; ++i) {
    rejected += engine.Check(identity, 1).reason == Reason::kRejectRatio;
  }
  return rejected;
}

// Five standard deviations of the binomial distribution.
void ExpectRatio(int rejected, double ratio) {
  EXPECT_NEAR(rejected, kRolls * ratio, 5 * std::sqrt(kRolls * ratio * (1 - ratio)));
}

TEST(EngineRules, ExemptOnTheRootWinsOverDenyOnTheLeaf) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "job:etl", DenyAction{}), RuleOn("exempt", "etl", ExemptAction{})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("job:etl", 1).reason, Reason::kExempt);
}

TEST(EngineRules, ExemptOnTheLeafWinsOverDenyOnTheRoot) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "etl", DenyAction{}), RuleOn("exempt", "job:etl", ExemptAction{})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("x:job:etl", 1).reason, Reason::kExempt);
  EXPECT_EQ(engine.Check("other:etl", 1).reason, Reason::kDenyRule);
}

TEST(EngineRules, ExemptChargesNothing) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.rules.push_back(RuleOn("exempt", "job:etl", ExemptAction{}));
  TestEngine engine(std::move(spec));
  EXPECT_TRUE(engine.Admits("job:etl", 1000));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 0);
}

TEST(EngineRules, ExemptHasNoPermitSinceThereIsNothingToSettle) {
  PolicySpec spec;
  spec.rules = {RuleOn("exempt", "etl", ExemptAction{})};
  TestEngine engine(std::move(spec));
  const CheckAnswer answer = engine.Check("etl", 1);
  EXPECT_EQ(answer.reason, Reason::kExempt);
  EXPECT_EQ(answer.permit, 0U);
}

TEST(EngineRules, ExemptPassesAShutGate) {
  PolicySpec spec;
  spec.targets.resize(1);
  spec.targets[0].name = "db";
  spec.targets[0].default_health = "p";
  spec.profiles = {{.name = "p", .signals = {}}};
  spec.rules = {RuleOn("exempt", "etl", ExemptAction{})};
  TestEngine engine(std::move(spec));
  engine.SetHealth("p", {.gate_shut = true});
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("other", 1));
}

TEST(EngineRules, ExemptPassesAnIdentityWithTooManyBudgets) {
  PolicySpec spec;
  spec.rules.push_back(RuleOn("exempt", "etl", ExemptAction{}));
  for (int i = 0; i < 17; ++i) {
    const std::string name = "b" + std::to_string(i);
    spec.budgets.push_back(RateBudget(name, 1, 10));
    spec.rules.push_back(ChargeRule("charge " + name, "etl", {name}));
  }
  TestEngine engine(std::move(spec));
  const absl::Status status = engine.CheckError(Request("etl", 1));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(EngineRules, DenyWinsOverTheRejectRatio) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{1}), RuleOn("deny", "", DenyAction{})};
  TestEngine engine(std::move(spec));
  const CheckAnswer answer = engine.Check("etl", 1);
  EXPECT_EQ(answer.reason, Reason::kDenyRule);
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_EQ(answer.violations[0].limit, Limit::kRule);
  EXPECT_EQ(answer.policy->rules.name(answer.violations[0].rule), "deny");
}

TEST(EngineRules, DenyWithoutAnEndIsForever) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "etl", DenyAction{})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::InfiniteDuration());
}

TEST(EngineRules, DenyThatExpiresSaysWhen) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "etl", DenyAction{})};
  spec.rules[0].expires_at = At(absl::Minutes(10)).wall();
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1, At(absl::Minutes(4))).retry_after, absl::Minutes(6));
  EXPECT_FALSE(engine.Admits("etl", 1, At(absl::Minutes(10)) - absl::Nanoseconds(1)));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Minutes(10))));
}

TEST(EngineRules, OfTwoDenyRulesTheLaterEndCounts) {
  PolicySpec spec;
  spec.rules = {RuleOn("short", "etl", DenyAction{}), RuleOn("long", "", DenyAction{})};
  spec.rules[0].expires_at = At(absl::Minutes(1)).wall();
  spec.rules[1].expires_at = At(absl::Minutes(10)).wall();
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::Minutes(10));
}

TEST(EngineRules, ScheduledDenySaysWhenItsWindowEnds) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "etl", DenyAction{})};
  // Thursdays from midnight to six; the tests start at midnight of a Thursday.
  spec.rules[0].match.schedule = ScheduleSpec{
      .windows = {{.days = 0b0001000, .start_minute = 0, .end_minute = 360}}, .time_zone = "UTC"};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1, At(absl::Hours(2))).retry_after, absl::Hours(4));
  EXPECT_FALSE(engine.Admits("etl", 1, At(absl::Hours(6)) - absl::Nanoseconds(1)));
  EXPECT_TRUE(engine.Admits("etl", 1, At(absl::Hours(6))));
}

TEST(EngineRejectRatio, RejectsItsShare) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{0.3})};
  TestEngine engine(std::move(spec));
  ExpectRatio(Rejections(engine, "etl"), 0.3);
}

TEST(EngineRejectRatio, HighestOfSeveralIsRolledOnce) {
  PolicySpec spec;
  spec.rules = {RuleOn("low", "etl", RejectAction{0.2}),
                RuleOn("high", "job:etl", RejectAction{0.3}),
                RuleOn("mid", "", RejectAction{0.25})};
  TestEngine engine(std::move(spec));
  ExpectRatio(Rejections(engine, "job:etl"), 0.3);
}

TEST(EngineRejectRatio, SameSeedRollsTheSameDice) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{0.5})};
  TestEngine one(spec);
  TestEngine two(spec);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.Admits("etl", 1), two.Admits("etl", 1));
}

TEST(EngineRejectRatio, ZeroRejectsNothing) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{0})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(Rejections(engine, "etl"), 0);
}

TEST(EngineRejectRatio, OneRejectsEverythingAndWaitingDoesNotHelp) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{1})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(Rejections(engine, "etl"), kRolls);
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::InfiniteDuration());
}

TEST(EngineRejectRatio, ALostRollIsWorthAskingAgain) {
  PolicySpec spec;
  spec.rules = {RuleOn("reject", "etl", RejectAction{0.999999})};
  TestEngine engine(std::move(spec));
  const CheckAnswer answer = engine.Check("etl", 1);
  ASSERT_EQ(answer.reason, Reason::kRejectRatio);
  EXPECT_EQ(answer.retry_after, absl::Seconds(1));
  EXPECT_DOUBLE_EQ(answer.violations[0].limit_value, 0.999999);
  EXPECT_LT(answer.violations[0].observed, 0.999999);
}

TEST(EngineRejectRatio, RejectedCheckIsNotCharged) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.rules.push_back(RuleOn("reject", "etl", RejectAction{1}));
  TestEngine engine(std::move(spec));
  EXPECT_FALSE(engine.Admits("etl", 5));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 0);
}

TEST(EnginePriority, IsThatOfTheDeepestSelector) {
  PolicySpec spec;
  spec.rules = {RuleOn("all", "", PriorityAction{9}), RuleOn("leaf", "job:etl", PriorityAction{3}),
                RuleOn("root", "etl", PriorityAction{7})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("x:job:etl", 1).priority, 3);
  EXPECT_EQ(engine.Check("other:etl", 1).priority, 7);
  EXPECT_EQ(engine.Check("other", 1).priority, 9);
}

TEST(EnginePriority, IsZeroWithoutARule) {
  TestEngine engine(PolicySpec{});
  EXPECT_EQ(engine.Check("etl", 1).priority, 0);
}

TEST(EnginePriority, OfDeniedChecksIsTold) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "etl", DenyAction{}), RuleOn("p", "etl", PriorityAction{-4})};
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check("etl", 1).priority, -4);
}

TEST(EngineRules, ApplyToTheirTargetOnly) {
  PolicySpec spec;
  spec.targets.resize(2);
  spec.targets[0].name = "db1";
  spec.targets[1].name = "db2";
  spec.rules = {RuleOn("deny", "", DenyAction{})};
  spec.rules[0].match.target = "db2";
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.Check({.identity = "etl", .target = "db1"}).verdict, Verdict::kAllowed);
  EXPECT_EQ(engine.Check({.identity = "etl", .target = "db2"}).verdict, Verdict::kDenied);
}

TEST(EngineRules, MatchTheAddressThatTheServerSees) {
  PolicySpec spec;
  spec.rules = {RuleOn("deny", "", DenyAction{})};
  spec.rules[0].match.remote_address = "10.0.0.0/8";
  TestEngine engine(std::move(spec));
  const IpAddress inside = *IpAddress::Parse("10.1.2.3");
  const IpAddress outside = *IpAddress::Parse("11.1.2.3");
  EXPECT_EQ(engine.Check({.identity = "etl", .remote_address = &inside}).verdict, Verdict::kDenied);
  EXPECT_EQ(engine.Check({.identity = "etl", .remote_address = &outside}).verdict,
            Verdict::kAllowed);
  EXPECT_EQ(engine.Check({.identity = "etl"}).verdict, Verdict::kAllowed);
}

}  // namespace
}  // namespace headgate::engine
