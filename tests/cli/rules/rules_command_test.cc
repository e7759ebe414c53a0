// headgate rules against a server: what is configured, in words, for a person and for a program.

#include <memory>

#include "gmock/gmock.h"
#include "tests/cli/test_server.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

engine::PolicySpec TwoRules() {
  engine::PolicySpec policy;
  for (const char* name : {"main", "other"}) policy.targets.emplace_back().name = name;
  engine::RuleSpec freeze = engine::RuleOn("freeze", "etl", engine::DenyAction{});
  freeze.match.target = "main";
  freeze.expires_at = absl::FromUnixSeconds(1'900'000'000);
  policy.rules = {freeze, engine::RuleOn("some", "", engine::RejectAction{0.25})};
  return policy;
}

class RulesCommand : public ::testing::Test {
 protected:
  RulesCommand() : server_(TwoRules(), {}) {
    auto config = std::make_shared<config::Config>();
    config->policy = TwoRules();
    server_.status.in_force = config;
  }

  TestServer server_;
};

TEST_F(RulesCommand, ShowsWhichChecksEachIsForAndWhatItDoes) {
  const Finished all = server_.Headgate({"rules"});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(all.out,
              AllOf(HasSubstr("etl and what is below it; on target main"), HasSubstr("denies"),
                    HasSubstr("2030-"), HasSubstr("(all)"), HasSubstr("rejects 25 % by chance")));
  EXPECT_EQ(server_.Headgate({"rules", "-o", "csv"}).out,
            "rule,match,action,expires_at\r\n"
            "freeze,etl and what is below it; on target main,denies,2030-03-17T17:46:40+00:00\r\n"
            "some,,rejects 25 % by chance,\r\n");
  EXPECT_THAT(server_.Headgate({"rules", "-o", "json"}).out,
              HasSubstr("\"match\": \"etl and what is below it; on target main\""));
}

TEST_F(RulesCommand, LeavesOutWhatIsForOtherTargets) {
  EXPECT_THAT(server_.Headgate({"rules", "--target", "other"}).out,
              AllOf(HasSubstr("some"), Not(HasSubstr("freeze"))));
  EXPECT_EQ(server_.Headgate({"rules", "--target", "nowhere"}).status, 2);
}

TEST_F(RulesCommand, TheTargetIsThatOfTheOptionElseOfTheEnvironment) {
  SubprocessOptions options = server_.Options();
  options.environment["HEADGATE_TARGET"] = "other";
  EXPECT_THAT(RunHeadgate({"rules"}, options).out, Not(HasSubstr("freeze")));
  EXPECT_THAT(RunHeadgate({"rules", "--target", "main"}, options).out, HasSubstr("freeze"));
  options.environment["HEADGATE_TARGET"] = "";
  EXPECT_THAT(RunHeadgate({"rules"}, options).out, HasSubstr("freeze"));
  options.environment["HEADGATE_TARGET"] = "\xff";
  const Finished refused = RunHeadgate({"rules"}, options);
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err, "headgate: HEADGATE_TARGET: '\\xff' is not UTF-8\n");
}

// By the option's name, whatever the field is called in the API.
TEST_F(RulesCommand, AMissingTargetIsToldWithThoseThatThereAre) {
  for (const char* command : {"check", "explain"}) {
    EXPECT_EQ(server_.Headgate({command, "job:etl"}).err,
              "headgate: --target is needed: main, other\n");
    EXPECT_EQ(server_.Headgate({command, "job:etl", "--target", "mian"}).err,
              "headgate: --target: no target 'mian' is configured; did you mean 'main'?\n");
  }
}

TEST_F(RulesCommand, SaysThatNothingIsLimitedWithoutAny) {
  server_.status.in_force = std::make_shared<const config::Config>();
  EXPECT_EQ(server_.Headgate({"rules"}).out, "no rules are configured: nothing is limited\n");
}

}  // namespace
}  // namespace headgate::cli
