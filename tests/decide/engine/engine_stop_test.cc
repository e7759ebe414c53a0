// Emergency stops: what denies or rejects everybody, and which resume rules lift that.

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/to_be_allowed.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RuleSpec Stop(const std::string& name = "stop") {
  return RuleOn(name, "", DenyAction{.lifted_by = LiftedBy::kLaterResume});
}
RuleSpec PartialStop(double ratio) {
  return RuleOn("part", "", RejectAction{.ratio = ratio, .lifted_by = LiftedBy::kLaterResume});
}

TestEngine With(std::vector<RuleSpec> rules) {
  PolicySpec spec = OneBudget(RateBudget("rows", 1, 10));
  for (RuleSpec& rule : rules) spec.rules.push_back(std::move(rule));
  return TestEngine(std::move(spec));
}

TEST(EngineStop, DeniesWhoeverAsks) {
  TestEngine engine = With({Stop()});
  for (const char* identity : {"etl", "job:etl", "anything:at:all"}) {
    EXPECT_EQ(engine.Check(identity, 0).reason, Reason::kDenyRule) << identity;
  }
}

TEST(EngineStop, IsNotLiftedByAResumeBeforeIt) {
  TestEngine engine = With({RuleOn("early", "job:etl", ResumeAction{}), Stop()});
  EXPECT_EQ(engine.Check("job:etl", 0).reason, Reason::kDenyRule);
}

TEST(EngineStop, IsLiftedByAResumeAfterItWhichStillChargesBudgets) {
  TestEngine engine = With({Stop(), RuleOn("late", "job:etl", ResumeAction{})});
  EXPECT_EQ(engine.Check("etl", 0).reason, Reason::kDenyRule);
  EXPECT_TRUE(engine.Admits("job:etl", 10));
  EXPECT_EQ(engine.Check("job:etl", 1).reason, Reason::kCapacity);
}

TEST(EngineStop, AfterAResumeOfEverythingStopsAgain) {
  TestEngine engine = With({Stop("first"), RuleOn("late", "", ResumeAction{}), Stop("second")});
  const Explanation denied = engine.Explain(Request("job:etl", 0));
  ASSERT_EQ(denied.answer.violations.size(), 1U);
  EXPECT_EQ(denied.answer.policy->rules.name(denied.answer.violations[0].rule), "second");
  ASSERT_EQ(denied.lifted.size(), 1U);
  EXPECT_EQ(denied.answer.policy->rules.name(denied.lifted[0]), "first");
}

TEST(EngineStop, TheOldResumeStillLiftsWhatElseRefuses) {
  TestEngine engine = With({RuleOn("deny", "etl", DenyAction{}),
                            RuleOn("early", "job:etl", ResumeAction{}), PartialStop(0.25)});
  const Explanation explained = engine.Explain(Request("job:etl", 0));
  EXPECT_EQ(explained.answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(explained.reject_ratio, 0.25);
  EXPECT_EQ(explained.answer.policy->rules.name(explained.resumed_by), "early");
  ASSERT_EQ(explained.lifted.size(), 1U);
  EXPECT_EQ(explained.answer.policy->rules.name(explained.lifted[0]), "deny");
}

TEST(EngineStop, OfPartIsOutweighedByALargerShareAndIsLiftedAlike) {
  TestEngine larger = With({RuleOn("most", "etl", RejectAction{1}), PartialStop(0.25)});
  EXPECT_EQ(larger.Check("etl", 0).reason, Reason::kRejectRatio);
  TestEngine lifted = With({PartialStop(1), RuleOn("late", "etl", ResumeAction{})});
  EXPECT_TRUE(lifted.Admits("etl", 0));
}

TEST(EngineStop, LetsPassWhoIsExempt) {
  TestEngine engine = With({RuleOn("vip", "vip:etl", ExemptAction{}), Stop()});
  EXPECT_EQ(engine.Check("vip:etl", 1000).reason, Reason::kExempt);
  EXPECT_EQ(engine.Check("etl", 0).reason, Reason::kDenyRule);
}

TEST(EngineStop, SaysThatOnlyItsEndOrALaterResumeHelps) {
  TestEngine engine = With({RuleOn("early", "etl", ResumeAction{}), Stop()});
  EXPECT_THAT(WhatWouldHelp(engine.Explain(Request("etl", 0))),
              ElementsAre(HasSubstr("headgate resume --everything ends it")));
  TestEngine other = With({RuleOn("deny", "etl", DenyAction{})});
  EXPECT_THAT(WhatWouldHelp(other.Explain(Request("etl", 0))),
              ElementsAre(HasSubstr("; headgate resume lets it through meanwhile")));
}

// Rules without a selector, of each kind, everywhere and on one of two targets.
class RuleOnEverything : public ::testing::TestWithParam<const char*> {
 protected:
  // With one rule that has this action and matches whatever is asked on the target.
  static TestEngine Under(ActionSpec action) {
    PolicySpec spec;
    spec.targets.resize(2);
    spec.targets[0].name = "one";
    spec.targets[1].name = "two";
    spec.profiles = {{.name = "p", .signals = {}}};
    spec.budgets = {RateBudget("rows", 1, 10)};
    RuleSpec rule = RuleOn("all", "", std::move(action));
    rule.match.target = GetParam();
    spec.rules = {std::move(rule)};
    return TestEngine(std::move(spec));
  }
  static CheckRequest Of(std::string_view identity, std::string_view target, double cost = 1) {
    CheckRequest request = Request(identity, cost);
    request.target = target;
    return request;
  }
  static bool Holds(std::string_view target) { return *GetParam() == '\0' || target == GetParam(); }
  // That the rule holds for all identities on its targets, and on no other.
  template <typename HasEffect>
  static void Expect(ActionSpec action, HasEffect has_effect) {
    TestEngine engine = Under(std::move(action));
    for (const char* target : {"one", "two"}) {
      for (const char* identity : {"etl", "a:b:c"}) {
        EXPECT_EQ(has_effect(engine, Of(identity, target)), Holds(target))
            << identity << " on " << target;
      }
    }
  }
};

TEST_P(RuleOnEverything, Charges) {
  Expect(ChargeAction{{"rows"}}, [](TestEngine& engine, const CheckRequest& request) {
    return engine.Check(request).verdict == Verdict::kAllowed &&
           engine.Explain(request).buckets.size() == 1;
  });
}

TEST_P(RuleOnEverything, Exempts) {
  Expect(ExemptAction{}, [](TestEngine& engine, const CheckRequest& request) {
    return engine.Check(request).reason == Reason::kExempt;
  });
}

TEST_P(RuleOnEverything, Denies) {
  Expect(DenyAction{}, [](TestEngine& engine, const CheckRequest& request) {
    return engine.Check(request).reason == Reason::kDenyRule;
  });
}

TEST_P(RuleOnEverything, Rejects) {
  Expect(RejectAction{1}, [](TestEngine& engine, const CheckRequest& request) {
    return engine.Check(request).reason == Reason::kRejectRatio;
  });
}

TEST_P(RuleOnEverything, GatesByAHealthProfile) {
  Expect(HealthAction{"p"}, [](TestEngine& engine, const CheckRequest& request) {
    EXPECT_TRUE(engine->SetHealth(request.target, "p", {.gate_shut = true}, At()).ok());
    return engine.Check(request).reason == Reason::kHealth;
  });
}

TEST_P(RuleOnEverything, SetsAPriority) {
  Expect(PriorityAction{-4}, [](TestEngine& engine, const CheckRequest& request) {
    return engine.Check(request).priority == -4;
  });
}

INSTANTIATE_TEST_SUITE_P(Engine, RuleOnEverything, ::testing::Values("", "one"),
                         [](const auto& target) {
                           return *target.param == '\0' ? "EveryTarget" : "OneOfTwo";
                         });

}  // namespace
}  // namespace headgate::engine
