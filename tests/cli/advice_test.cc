#include "client/cli/advice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Violation& AddViolation(v1::ExplainResponse& explanation, v1::LimitKind kind) {
  explanation.mutable_decision()->set_verdict(v1::VERDICT_DENIED);
  v1::Violation& violation = *explanation.mutable_decision()->add_violations();
  violation.set_budget("rows");
  violation.set_limit_kind(kind);
  return violation;
}

v1::BucketState& AddBucket(v1::ExplainResponse& explanation, double cost, double debt,
                           double burst) {
  v1::BucketState& bucket = *explanation.add_buckets();
  bucket.set_budget("rows");
  bucket.set_cost(cost);
  bucket.set_debt(debt);
  bucket.set_burst(burst);
  return bucket;
}

TEST(Advice, IsNotNeededWhereTheCheckIsAllowed) {
  v1::ExplainResponse explanation;
  explanation.mutable_decision()->set_verdict(v1::VERDICT_ALLOWED);
  explanation.mutable_decision()->add_violations()->set_warn(true);
  EXPECT_THAT(WhatWouldHelp(explanation), IsEmpty());
}

TEST(Advice, SaysHowFarABucketHasToDrainAndWhatFitsNow) {
  v1::ExplainResponse explanation;
  AddBucket(explanation, 40, 90, 100);
  AddViolation(explanation, v1::LIMIT_KIND_BURST).mutable_retry_after()->set_seconds(3);
  EXPECT_THAT(WhatWouldHelp(explanation),
              ElementsAre("budget 'rows' owes 90 and has to drain to 60, which it does in 3s; or "
                          "ask for at most 10 now"));
}

TEST(Advice, SaysWhenACostNeverFits) {
  v1::ExplainResponse explanation;
  AddBucket(explanation, 400, 0, 100);
  AddViolation(explanation, v1::LIMIT_KIND_BURST);
  EXPECT_THAT(WhatWouldHelp(explanation), ElementsAre(HasSubstr("at most its burst of 100")));
}

TEST(Advice, NamesTheSignalThatShutTheGate) {
  v1::ExplainResponse explanation;
  v1::Violation& violation = AddViolation(explanation, v1::LIMIT_KIND_HEALTH);
  violation.set_signal("replication_lag_seconds on standby-2");
  violation.set_observed(7.1);
  violation.set_limit(5);
  explanation.mutable_decision()->mutable_health()->set_state(v1::HEALTH_STATE_HEALTHY);
  EXPECT_THAT(WhatWouldHelp(explanation),
              ElementsAre("replication_lag_seconds on standby-2 has to fall below its hard "
                          "threshold (7.1 now, below 5 needed)"));
}

TEST(Advice, AsksForASampleWhereThereIsNoRecentOne) {
  v1::ExplainResponse explanation;
  AddViolation(explanation, v1::LIMIT_KIND_HEALTH);
  v1::Health& health = *explanation.mutable_decision()->mutable_health();
  health.set_profile("careful");
  health.set_state(v1::HEALTH_STATE_STALE);
  EXPECT_THAT(WhatWouldHelp(explanation),
              ElementsAre(HasSubstr("'careful' needs a recent sample (it is STALE)")));
}

TEST(Advice, NamesEveryRuleThatWouldDenyInItsPlace) {
  v1::ExplainResponse explanation;
  v1::Violation& violation = AddViolation(explanation, v1::LIMIT_KIND_RULE);
  violation.set_rule("no-etl");
  violation.mutable_retry_after()->set_seconds(90);
  explanation.mutable_decision()->set_reason(v1::REASON_DENY_RULE);
  for (const char* name : {"no-etl", "charge", "freeze"}) {
    v1::MatchedRule& rule = *explanation.add_matched_rules();
    rule.set_name(name);
    rule.set_action(rule.name() == "charge" ? "charges rows" : "denies");
  }
  EXPECT_THAT(WhatWouldHelp(explanation),
              ElementsAre("rule 'no-etl' has to end, which it does in 1m30s, or no longer match "
                          "this identity; so does 'freeze'; headgate resume lets it through "
                          "meanwhile"));
}

TEST(Advice, SaysToAskAgainWhereChanceDecides) {
  v1::ExplainResponse explanation;
  v1::Violation& violation = AddViolation(explanation, v1::LIMIT_KIND_RULE);
  violation.set_rule("half");
  violation.set_limit(0.5);
  explanation.mutable_decision()->set_reason(v1::REASON_REJECT_RATIO);
  EXPECT_THAT(WhatWouldHelp(explanation), ElementsAre(HasSubstr("rejects 50 % of Checks: ask")));
  violation.set_limit(1);
  EXPECT_THAT(WhatWouldHelp(explanation), ElementsAre(HasSubstr("'half' has to be removed")));
}

TEST(Advice, HasOneSentenceForEachLimitThatDenies) {
  v1::ExplainResponse explanation;
  AddViolation(explanation, v1::LIMIT_KIND_MAX_COST).set_limit(50);
  AddViolation(explanation, v1::LIMIT_KIND_MAX_CONCURRENCY).set_limit(2);
  AddViolation(explanation, v1::LIMIT_KIND_RATE);
  AddViolation(explanation, v1::LIMIT_KIND_PROBE);
  AddViolation(explanation, v1::LIMIT_KIND_BURST).set_warn(true);
  AddViolation(explanation, v1::LIMIT_KIND_RULE).set_rule("no-etl");
  EXPECT_THAT(WhatWouldHelp(explanation),
              ElementsAre(HasSubstr("ask for at most 50"), HasSubstr("reported or to expire"),
                          HasSubstr("its rate has to be above 0"), HasSubstr("measured without"),
                          HasSubstr("rule 'no-etl' has to be removed")));
}

}  // namespace
}  // namespace headgate::cli
