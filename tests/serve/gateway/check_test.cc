// Checks, reports and the rest over HTTP: statuses, headers and bodies.

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/remember/throttle_log/fake_store.h"
#include "tests/testing/http_caller.h"
#include "tests/testing/in_process_server.h"

namespace headgate::gateway {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class GatewayTest : public testing::Test {
 protected:
  json Body(const httplib::Result& result) {
    if (!result) {
      ADD_FAILURE() << httplib::to_string(result.error());
      return {};
    }
    return json::parse(result->body, nullptr, /*allow_exceptions=*/false);
  }

  throttle_log::FakeStore store_;
  InProcessServer server_{
      engine::OneBudget(engine::RateBudget("b", 10, 100)),
      {.overrides = InProcessOptions::kKept, .log_store = &store_, .http = true}};
  HttpCaller caller_{server_.http_port()};
};

TEST_F(GatewayTest, AnswersACheckThatIsAllowedWith200) {
  const auto result = caller_.Post("/v1/check", R"({"identity": "job:etl", "estimated_cost": 60})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->get_header_value("Content-Type"), "application/json");
  EXPECT_FALSE(result->has_header("Retry-After"));
  const json decision = Body(result)["decision"];
  EXPECT_EQ(decision["verdict"], "VERDICT_ALLOWED");
  EXPECT_EQ(decision["predicted_cost"], 60);
  EXPECT_TRUE(decision["permit_id"].is_string());
  EXPECT_EQ(server_.Debt("job:etl"), 60);
}

TEST_F(GatewayTest, AnswersACheckThatIsDeniedWith429AndTheSecondsRoundedUp) {
  server_.Allowed("job:etl", 100);
  const auto result = caller_.Post("/v1/check", R"({"identity": "job:etl", "estimatedCost": 25})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 429);
  EXPECT_EQ(result->get_header_value("Retry-After"), "3");
  const json decision = Body(result)["decision"];
  EXPECT_EQ(decision["verdict"], "VERDICT_DENIED");
  EXPECT_EQ(decision["retry_after"], "2.500s");
  EXPECT_EQ(server_.Debt("job:etl"), 100);
}

TEST_F(GatewayTest, SettlesAPermitThatItGave) {
  const json decision = Body(
      caller_.Post("/v1/check", R"({"identity": "job:etl", "estimated_cost": 60})"))["decision"];
  const json report = {{"reports", {{{"permit_id", decision["permit_id"]}, {"actual_cost", 20}}}}};
  const auto result = caller_.Post("/v1/report", report.dump());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(Body(result)["results"][0]["outcome"], "REPORT_OUTCOME_SETTLED");
  EXPECT_EQ(server_.Debt("job:etl"), 20);
  EXPECT_EQ(server_.permits(), 0U);
}

TEST_F(GatewayTest, AnswersABatchWith200WhateverItsChecksAre) {
  const auto result = caller_.Post("/v1/batch_check",
                                   R"({"checks": [{"identity": "job:etl", "estimated_cost": 90},
                                                  {"identity": "job:etl", "estimated_cost": 90},
                                                  {"identity": "not an identity"}]})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  const json results = Body(result)["results"];
  EXPECT_EQ(results[0]["decision"]["verdict"], "VERDICT_ALLOWED");
  EXPECT_EQ(results[1]["decision"]["verdict"], "VERDICT_DENIED");
  EXPECT_EQ(results[2]["error"]["field"], "checks[2].identity");
}

TEST_F(GatewayTest, SaysWhichFieldIsWrong) {
  struct Case {
    const char* body;
    const char* field;
  };
  for (const Case& wrong :
       {Case{R"({"identity": "not an identity"})", "identity"},
        Case{R"({"identity": "etl", "estimated_cost": -1})", "estimated_cost"},
        Case{R"({"identity": "etl", "estimated_cost": "much"})", "estimated_cost"},
        Case{R"({"identity": "etl", "cost": 1})", "cost"},
        Case{R"({"identity": "etl", "max_wait": 5})", "max_wait"}}) {
    const auto result = caller_.Post("/v1/check", wrong.body);
    ASSERT_TRUE(result) << wrong.body;
    EXPECT_EQ(result->status, 400) << wrong.body;
    const json error = Body(result);
    EXPECT_EQ(error["code"], 3) << wrong.body;
    EXPECT_EQ(error["details"][1]["@type"], "type.googleapis.com/google.rpc.BadRequest");
    EXPECT_EQ(error["details"][1]["field_violations"][0]["field"], wrong.field) << wrong.body;
    EXPECT_TRUE(result->has_header("X-Request-Id"));
  }
}

TEST_F(GatewayTest, RefusesWhatIsNotJson) {
  for (const char* body : {"", "{", "[]", "null", "identity", "{\"identity\": \"etl\",}",
                           "{\"identity\": \"etl\"} {}", "{\"identity\": \"\xff\"}"}) {
    const auto result = caller_.Post("/v1/check", body);
    ASSERT_TRUE(result) << body;
    EXPECT_EQ(result->status, 400) << body;
    EXPECT_EQ(Body(result)["code"], 3) << body;
  }
}

TEST_F(GatewayTest, SaysThatATargetIsNotKnown) {
  const auto result = caller_.Post("/v1/check", R"({"identity": "etl", "target": "nowhere"})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 404);
  EXPECT_EQ(Body(result)["code"], 5);
}

TEST_F(GatewayTest, KnowsItsPathsAndMethodsAndTakesJsonAlone) {
  EXPECT_EQ(caller_.Post("/v1/chek", "{}")->status, 404);
  EXPECT_EQ(caller_.Post("/", "{}")->status, 404);
  EXPECT_EQ(caller_.Post("/v1/check_stream", "{}")->status, 501);
  const auto read = caller_.client().Get("/v1/check");
  EXPECT_EQ(read->status, 405);
  EXPECT_EQ(read->get_header_value("Allow"), "POST, OPTIONS");
  EXPECT_EQ(caller_.client().Delete("/v1/check")->status, 405);
  EXPECT_EQ(caller_.client().Post("/v1/check", "{}", "text/plain")->status, 415);
  EXPECT_EQ(caller_.client().Post("/v1/check", "{}", "application/x-www-form-urlencoded")->status,
            415);
  EXPECT_EQ(
      caller_.client().Post("/v1/get_status", "{}", "application/json; charset=utf-8")->status,
      200);
}

// A page in a browser of somebody who may reach the port is not that somebody.
TEST_F(GatewayTest, RefusesRequestsOfWebPages) {
  const auto result = caller_.client().Post("/v1/check", {{"Origin", "https://evil.example"}},
                                            R"({"identity": "etl"})", "application/json");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 403);
  EXPECT_EQ(server_.Debt("etl"), 0);
}

TEST_F(GatewayTest, ReadsStatusAndExplains) {
  const auto status = caller_.Post("/v1/get_status", "{}");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->status, 200);
  EXPECT_EQ(Body(status)["version"], "1.2.3");
  const auto explained =
      caller_.Post("/v1/explain", R"({"check": {"identity": "etl", "estimated_cost": 500}})");
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->status, 200);
  EXPECT_EQ(Body(explained)["decision"]["verdict"], "VERDICT_DENIED");
}

// Larger ones have a thread of their own, which nobody is to notice.
TEST_F(GatewayTest, AnswersALargeCallAsASmallOne) {
  json checks;
  for (int i = 0; i < 600; ++i) {
    checks.push_back({{"identity", absl::StrCat("job-", i, ":etl")}, {"estimated_cost", 0.1}});
  }
  checks.push_back({{"identity", "job:etl"}, {"estimated_cost", 90}});
  const std::string body = json({{"checks", checks}}).dump();
  ASSERT_GT(body.size(), 16'384U);
  const auto result = caller_.Post("/v1/batch_check", body);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  const json results = Body(result)["results"];
  ASSERT_EQ(results.size(), 601U);
  EXPECT_EQ(results[0]["decision"]["verdict"], "VERDICT_ALLOWED");
  EXPECT_EQ(results[600]["decision"]["verdict"], "VERDICT_DENIED");
  const std::string padded =
      R"({"identity": "job:etl", "estimated_cost": 90})" + std::string(20'000, ' ');
  EXPECT_EQ(caller_.Post("/v1/check", padded)->status, 429);
  const auto wrong = caller_.client().Post("/v1/report", {{"X-Request-Id", "mine-7"}},
                                           std::string(20'000, '['), "application/json");
  EXPECT_EQ(wrong->status, 400);
  EXPECT_EQ(wrong->get_header_value("X-Request-Id"), "mine-7");
  const auto methods = server_.dependencies().calls.ReadMethods();
  EXPECT_EQ(methods.at("BatchCheck").codes[0], 1U);
  EXPECT_EQ(methods.at("Check").codes[0], 1U);
  EXPECT_EQ(methods.at("Report").codes[3], 1U);
}

TEST_F(GatewayTest, GivesBackTheRequestIdOfACallThatFails) {
  const auto result =
      caller_.client().Post("/v1/check", {{"X-Request-Id", "mine-7"}}, "{}", "application/json");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 400);
  EXPECT_EQ(result->get_header_value("X-Request-Id"), "mine-7");
}

TEST_F(GatewayTest, CountsItsCallsWithThoseOverGrpc) {
  server_.Allowed("etl", 1);
  caller_.Post("/v1/check", R"({"identity": "etl", "estimated_cost": 1})");
  caller_.Post("/v1/check", "{}");
  caller_.Post("/v1/list_budgets", "{}");
  const auto methods = server_.dependencies().calls.ReadMethods();
  EXPECT_EQ(methods.at("Check").codes[0], 2U);
  EXPECT_EQ(methods.at("Check").codes[3], 1U);
  EXPECT_EQ(methods.at("ListBudgets").codes[0], 1U);
}

// What it says is there is there, and nothing is missing.
TEST_F(GatewayTest, TellsWhatThereIsToCall) {
  const auto result = caller_.client().Get("/openapi.json");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  const json paths = Body(result)["paths"];
  size_t methods = 0;
  for (const auto& [path, operations] : paths.items()) {
    if (!path.starts_with("/v1/")) continue;
    ++methods;
    EXPECT_NE(caller_.Post(path, "nonsense")->status, 404) << path;
  }
  EXPECT_EQ(methods, 27U);
  EXPECT_TRUE(paths.contains("/check/{app}/{store_type}/{store}"));
}

TEST_F(GatewayTest, NamesAPathForEachMethod) {
  EXPECT_EQ(PathOf("/headgate.v1.ThrottlerService/Check"), "/v1/check");
  EXPECT_EQ(PathOf("/headgate.v1.StatusService/ListBudgets"), "/v1/list_budgets");
}

}  // namespace
}  // namespace headgate::gateway
