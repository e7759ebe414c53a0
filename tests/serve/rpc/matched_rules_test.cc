// Explain's rules: what each does, which won, and why the others lost.

#include "gmock/gmock.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using engine::RuleOn;
using ::testing::ElementsAre;

// "name: action" of each rule, and what overruled it.
std::vector<std::string> RulesOf(engine::PolicySpec spec, const std::string& identity = "job:etl") {
  InProcessServer server(std::move(spec));
  v1::ExplainRequest request;
  *request.mutable_check() = CheckOf(identity, 1);
  const v1::ExplainResponse response =
      AnswerOf(server.channel, &v1::ThrottlerService::Stub::Explain, request);
  // Those of a shorter prefix are told of, and do not match.
  EXPECT_LE(response.rules_size(), response.matched_rules_size());
  std::vector<std::string> rules;
  for (const v1::MatchedRule& rule : response.matched_rules()) {
    const bool overruled = rule.effect() == v1::RULE_EFFECT_OVERRULED;
    EXPECT_EQ(overruled, !rule.overruled_by().empty());
    EXPECT_EQ(overruled, !rule.overruled_because().empty());
    rules.push_back(absl::StrCat(rule.name(), ": ", rule.action(), overruled ? " < " : "",
                                 rule.overruled_by(), overruled ? ", " : "",
                                 rule.overruled_because()));
  }
  return rules;
}

engine::PolicySpec With(std::vector<engine::RuleSpec> rules) {
  engine::PolicySpec spec = OneBudget(RateBudget("rows", 10, 100));
  for (engine::RuleSpec& rule : rules) spec.rules.push_back(std::move(rule));
  return spec;
}

TEST(MatchedRules, AllThatGoTogetherApply) {
  engine::PolicySpec spec = With({RuleOn("half", "etl", engine::RejectAction{0.5}),
                                  RuleOn("gate", "etl", engine::HealthAction{"careful"}),
                                  RuleOn("first", "etl", engine::PriorityAction{3})});
  spec.profiles.push_back({.name = "careful", .signals = {"lag"}});
  EXPECT_THAT(RulesOf(std::move(spec)),
              ElementsAre("charge: charges rows", "half: rejects 50 % by chance",
                          "gate: gates by health profile careful", "first: sets priority 3"));
}

TEST(MatchedRules, ExemptWinsOverEverythingButTheLabel) {
  EXPECT_THAT(
      RulesOf(With({RuleOn("no", "etl", engine::DenyAction{}),
                    RuleOn("free", "job:etl", engine::ExemptAction{}),
                    RuleOn("go", "etl", engine::ResumeAction{}),
                    RuleOn("first", "etl", engine::PriorityAction{3})})),
      ElementsAre("charge: charges rows < free, exempt wins over everything",
                  "no: denies < free, exempt wins over everything", "free: exempts",
                  "go: resumes < free, exempt wins over everything", "first: sets priority 3"));
}

TEST(MatchedRules, ResumeWinsOverWhatRulesRefuse) {
  EXPECT_THAT(
      RulesOf(With({RuleOn("no", "etl", engine::DenyAction{}),
                    RuleOn("half", "etl", engine::RejectAction{0.5}),
                    RuleOn("go", "job:etl", engine::ResumeAction{})})),
      ElementsAre("charge: charges rows", "no: denies < go, resume lets through what rules refuse",
                  "half: rejects 50 % by chance < go, resume lets through what rules refuse",
                  "go: resumes"));
}

TEST(MatchedRules, DenyWinsOverSharesAndKeepsOutOfBudgets) {
  EXPECT_THAT(
      RulesOf(With({RuleOn("half", "etl", engine::RejectAction{0.5}),
                    RuleOn("no", "etl", engine::DenyAction{}),
                    RuleOn("never", "etl", engine::DenyAction{})})),
      ElementsAre("charge: charges rows < no, a denied Check gets to no budget and no health "
                  "gate",
                  "half: rejects 50 % by chance < no, deny wins over a share", "no: denies",
                  "never: denies"));
}

TEST(MatchedRules, TheLargestShareAndTheDeepestPriorityCount) {
  EXPECT_THAT(RulesOf(With({RuleOn("some", "etl", engine::RejectAction{0.1}),
                            RuleOn("all", "etl", engine::RejectAction{1}),
                            RuleOn("low", "etl", engine::PriorityAction{9}),
                            RuleOn("high", "job:etl", engine::PriorityAction{1})})),
              ElementsAre("charge: charges rows < all, a rejected Check gets to no budget and no "
                          "health gate",
                          "some: rejects 10 % by chance < all, the largest share counts",
                          "all: rejects 100 % by chance",
                          "low: sets priority 9 < high, the deepest selector's priority counts",
                          "high: sets priority 1"));
}

TEST(MatchedRules, OfAShorterPrefixAreOverruledByTheLongest) {
  engine::RuleSpec net = RuleOn("net", "etl", engine::DenyAction{});
  net.match.remote_address = "127.0.0.0/8";
  engine::RuleSpec host = RuleOn("host", "", engine::PriorityAction{2});
  host.match.remote_address = "127.0.0.1/32";
  engine::RuleSpec other = RuleOn("other", "", engine::DenyAction{});
  other.match.remote_address = "10.0.0.0/8";
  EXPECT_THAT(RulesOf(With({net, host, other})),
              ElementsAre("charge: charges rows", "net: denies < host, the longest prefix counts",
                          "host: sets priority 2"));
}

TEST(MatchedRules, SayWhenTheyExpire) {
  engine::RuleSpec freeze = RuleOn("freeze", "etl", engine::DenyAction{});
  freeze.expires_at = absl::FromUnixNanos(FakeClock::kStartWallNs) + absl::Seconds(90);
  InProcessServer server(With({freeze}));
  v1::ExplainRequest request;
  *request.mutable_check() = CheckOf("job:etl", 1);
  v1::ExplainResponse response;
  ASSERT_TRUE(
      CallRpc(server.channel, &v1::ThrottlerService::Stub::Explain, request, response).ok());
  ASSERT_EQ(response.matched_rules_size(), 2);
  EXPECT_FALSE(response.matched_rules(0).has_expires_at());
  EXPECT_EQ(response.matched_rules(1).expires_at().seconds(),
            FakeClock::kStartWallNs / 1'000'000'000 + 90);
}

}  // namespace
}  // namespace headgate::rpc
