// ListRules: what is configured, in its order, page by page.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

engine::PolicySpec FiveRules() {
  engine::PolicySpec policy;
  for (const char* name : {"one", "two"}) policy.targets.emplace_back().name = name;
  for (int i = 0; i < 5; ++i) {
    engine::RuleSpec rule = engine::RuleOn(absl::StrCat("rule-", i), "etl", engine::DenyAction{});
    if (i == 3) rule.match.target = "two";
    policy.rules.push_back(rule);
  }
  return policy;
}

class ListRulesTest : public testing::Test {
 protected:
  ListRulesTest() {
    auto config = std::make_shared<config::Config>();
    config->policy = FiveRules();
    server_.status.in_force = config;
  }
  grpc::Status List(const v1::ListRulesRequest& request) {
    return CallRpc(server_.channel, &v1::StatusService::Stub::ListRules, request, rules_);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const v1::RuleStatus& rule : rules_.rules()) names.push_back(rule.name());
    return names;
  }

  InProcessServer server_{FiveRules()};
  v1::ListRulesResponse rules_;
};

TEST_F(ListRulesTest, ShowsThemInTheirOrderAndInPages) {
  v1::ListRulesRequest request;
  request.set_page_size(3);
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("rule-0", "rule-1", "rule-2"));
  EXPECT_EQ(rules_.rules(0).match(), "etl and what is below it");
  EXPECT_EQ(rules_.rules(0).action(), "denies");
  EXPECT_FALSE(rules_.rules(0).has_expires_at());
  request.set_page_token(rules_.next_page_token());
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("rule-3", "rule-4"));
  EXPECT_EQ(rules_.next_page_token(), "");
}

TEST_F(ListRulesTest, LeavesOutThoseOfOtherTargets) {
  v1::ListRulesRequest request;
  request.set_target("one");
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Names(), ElementsAre("rule-0", "rule-1", "rule-2", "rule-4"));
  request.set_target("three");
  EXPECT_EQ(List(request).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ListRulesTest, SaysWhatIsWrongWithAPage) {
  v1::ListRulesRequest request;
  request.set_page_size(1001);
  EXPECT_EQ(List(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_page_size(0);
  request.set_page_token("x");
  EXPECT_EQ(List(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ListRulesTest, HasNoneWithoutAConfiguration) {
  server_.status.in_force = std::shared_ptr<const config::Config>();
  ASSERT_TRUE(List({}).ok());
  EXPECT_THAT(Names(), IsEmpty());
}

}  // namespace
}  // namespace headgate::rpc
