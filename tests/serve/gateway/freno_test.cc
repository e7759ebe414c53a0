// freno's verbs, as its clients and gh-ost use them.

#include "server/serve/gateway/freno.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/http_caller.h"
#include "tests/testing/in_process_server.h"

namespace headgate::gateway {
namespace {

using nlohmann::json;

engine::PolicySpec Policy() {
  engine::PolicySpec policy = engine::OneBudget(engine::RateBudget("b", 10, 100));
  policy.profiles = {{.name = "default", .signals = {"replication_lag_seconds"}}};
  policy.targets = {{.name = "main", .capacity = std::nullopt, .default_health = "default"}};
  engine::RuleSpec never;
  never.name = "never";
  never.match.identity = "banned";
  never.action = engine::DenyAction{};
  policy.rules.push_back(never);
  engine::RuleSpec half;
  half.name = "half";
  half.match.identity = "throttled";
  half.action = engine::RejectAction{0.5};
  policy.rules.push_back(half);
  return policy;
}

class FrenoTest : public testing::Test {
 protected:
  FrenoTest() { SetPressure(0, 1); }

  void SetPressure(double pressure, double speed) {
    engine::Health verdict;
    verdict.speed = speed;
    verdict.gate_shut = pressure >= 1;
    verdict.pressure = static_cast<float>(pressure);
    verdict.status = engine::HealthStatus::kHealthy;
    verdict.sampled_at_ns = server_.clock.Read().monotonic_ns;
    const absl::Status set =
        server_.engine.SetHealth("main", "default", verdict, server_.clock.Read());
    EXPECT_TRUE(set.ok()) << set;
  }
  int Head(const std::string& path) { return caller_.client().Head(path)->status; }
  json Get(const std::string& path) { return json::parse(caller_.client().Get(path)->body); }

  InProcessServer server_{Policy(), {.http = true}};
  HttpCaller caller_{server_.http_port()};
};

TEST_F(FrenoTest, AnAppMayWriteWhereTheStoreIsWell) {
  EXPECT_EQ(Head("/check/orders:etl/mysql/main"), 200);
  const json answer = Get("/check/orders:etl/postgresql/main");
  EXPECT_EQ(answer["StatusCode"], 200);
  EXPECT_EQ(answer["Value"], 0);
  EXPECT_EQ(answer["Threshold"], 1);
}

TEST_F(FrenoTest, NobodyMayWhereItIsNot) {
  SetPressure(2.5, 0);
  const auto answer = caller_.client().Get("/check/orders:etl/mysql/main");
  EXPECT_EQ(answer->status, 429);
  EXPECT_TRUE(answer->has_header("Retry-After"));
  EXPECT_EQ(json::parse(answer->body)["Value"], 2.5);
  EXPECT_EQ(Head("/check/orders:etl/mysql/main"), 429);
}

TEST_F(FrenoTest, AnAppIsForbiddenByARule) { EXPECT_EQ(Head("/check/banned/mysql/main"), 417); }

// As an app that freno's /throttle-app has with a ratio.
TEST_F(FrenoTest, AnAppIsForbiddenInTheShareThatARuleDenies) {
  int forbidden = 0;
  for (int i = 0; i < 400; ++i) {
    const int status = Head("/check/throttled/mysql/main");
    EXPECT_TRUE(status == 200 || status == 417) << status;
    forbidden += status == 417 ? 1 : 0;
  }
  EXPECT_GT(forbidden, 160);
  EXPECT_LT(forbidden, 240);
}

TEST_F(FrenoTest, AStoreThatIsNotKnownIsNotFound) {
  EXPECT_EQ(Head("/check/orders:etl/mysql/elsewhere"), 404);
  EXPECT_EQ(Get("/check/orders:etl/mysql/elsewhere")["StatusCode"], 404);
}

TEST_F(FrenoTest, NothingIsChargedAndNoPermitTaken) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Head("/check/orders:etl/mysql/main"), 200);
  EXPECT_EQ(server_.Debt("orders:etl"), 0);
  EXPECT_EQ(server_.permits(), 0U);
}

TEST_F(FrenoTest, AnAppHasToBeAnIdentityAndAPathWhole) {
  EXPECT_EQ(Head("/check/not%20one/mysql/main"), 400);
  EXPECT_EQ(Head("/check/a%2Fb:etl/mysql/main"), 200);
  EXPECT_EQ(Get("/check/%ff/mysql/main")["Message"], "identity: is not printable UTF-8");
  EXPECT_EQ(Head("/check/etl/mysql/%c3"), 400);
  for (const char* path :
       {"/check/", "/check/etl", "/check/etl/mysql", "/check/etl/mysql/", "/check/etl//main",
        "/check/etl/mysql/main/more", "/check/%zz/mysql/main"}) {
    EXPECT_EQ(Head(path), 404) << path;
  }
  EXPECT_EQ(caller_.Post("/check/etl/mysql/main", "{}")->status, 405);
}

}  // namespace
}  // namespace headgate::gateway
