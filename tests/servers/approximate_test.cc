// on_store_loss: APPROXIMATE: Checks are answered while the store is away and nobody owns anything.

#include <headgate/v1/cluster_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <httplib.h>

#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/testing/rpc_call.h"

namespace headgate {
namespace {

using testing::HasSubstr;

constexpr double kUnitsASecond = 100;
constexpr double kOwedAtFirst = 9000;
constexpr double kCost = 3;

class Approximate : public testing::Test {
 protected:
  Approximate() {
    for (int server = 0; server < servers_.size(); ++server) {
      EXPECT_TRUE(servers_.AwaitOwners(server));
      EXPECT_TRUE(WaitUntil([&] { return StatusOf(server).members_size() == 3; }));
    }
  }

  v1::ClusterStatus StatusOf(int server) {
    const Peer peer{servers_.channel(server)};
    return AnswerOf(peer, &v1::ClusterService::Stub::ListMembers).cluster();
  }
  bool IsApproximate(int server, v1::Decision* decision = nullptr, double cost = 1) {
    v1::Decision here;
    v1::Decision& answer = decision == nullptr ? here : *decision;
    const grpc::Status status = servers_.TryCheck(server, "orders", "job:etl", &answer, cost);
    return status.ok() && answer.reason() == v1::REASON_APPROXIMATE;
  }
  bool AwaitApproximate() {
    for (int server = 0; server < servers_.size(); ++server) {
      if (!WaitUntil([&] { return IsApproximate(server, nullptr, 0); })) return false;
    }
    return true;
  }
  std::string MetricsOf(int server) {
    httplib::SSLClient client("127.0.0.1", servers_[server].http_port(), servers_.caller_file(),
                              servers_.caller_key_file());
    client.enable_server_certificate_verification(false);
    const auto response = client.Get("/metrics");
    return response ? response->body : httplib::to_string(response.error());
  }
  double DebtOf(int server) {
    v1::ExplainRequest request;
    request.mutable_check()->set_identity("job:etl");
    request.mutable_check()->set_target("orders");
    v1::ExplainResponse response;
    const grpc::Status status =
        servers_.Try(server, &v1::ThrottlerService::Stub::Explain, request, response);
    return status.ok() && response.buckets_size() == 1 ? response.buckets(0).debt() : -1;
  }
  absl::Time Now() { return absl::FromUnixNanos(clock_.Read().wall_ns); }

  SystemClock clock_;
  Deployment servers_{{.targets = {"orders"},
                       .lease = "10s",
                       .cluster_more = "  on_store_loss: APPROXIMATE\n",
                       .rate = "100",
                       .burst = "10000",
                       .logs_to_store = true,
                       .serves_http = true}};
};

TEST_F(Approximate, WithoutTheStoreChecksAreAnsweredAndChargedOnceItIsBack) {
  ASSERT_EQ(servers_.Check(0, "orders", "job:etl", kOwedAtFirst).verdict(), v1::VERDICT_ALLOWED);
  const absl::Time began = Now();
  servers_.store().Kill();
  ASSERT_TRUE(AwaitApproximate());

  // More than may be is asked for, of all of them.
  const absl::Time first = Now();
  double admitted = 0;
  int asked = 0;
  v1::Decision decision;
  ASSERT_TRUE(WaitUntil([&] {
    for (int server = 0; server < servers_.size(); ++server, ++asked) {
      EXPECT_TRUE(IsApproximate(server, &decision, kCost));
      EXPECT_FALSE(decision.has_permit_id());
      if (decision.verdict() == v1::VERDICT_ALLOWED) {
        EXPECT_THAT(decision.message(), HasSubstr("approximately"));
        admitted += kCost;
      } else {
        EXPECT_EQ(decision.violations(0).limit_kind(), v1::LIMIT_KIND_APPROXIMATE);
        EXPECT_TRUE(decision.has_retry_after());
      }
    }
    return admitted >= 400;
  }));
  const double lasted = absl::ToDoubleSeconds(Now() - first);
  std::printf(
      "three servers without a store admitted %.0f of %.0f in %.1f s: the rate is %.0f a s\n",
      admitted, kCost * asked, lasted, kUnitsASecond);
  // What has passed, and two seconds at once.
  EXPECT_LE(admitted, kUnitsASecond * (lasted + 2) * 1.1);

  const v1::ClusterStatus status = StatusOf(1);
  EXPECT_EQ(status.approximate().servers(), 3);
  EXPECT_GT(status.approximate().uncharged_buckets(), 0);
  EXPECT_TRUE(servers_.AwaitLog(1, "decides approximately"));
  const std::string metrics = MetricsOf(1);
  EXPECT_THAT(metrics, HasSubstr("headgate_decides_approximately 1"));
  EXPECT_THAT(metrics, HasSubstr("reason=\"APPROXIMATE\""));

  ASSERT_TRUE(servers_.store().Start().ok());
  for (int server = 0; server < servers_.size(); ++server) {
    EXPECT_TRUE(servers_.AwaitLog(server, "has been charged to the owner"));
    EXPECT_TRUE(WaitUntil([&] {
      const grpc::Status asked_again = servers_.TryCheck(server, "orders", "job:etl", &decision, 0);
      return asked_again.ok() && decision.reason() != v1::REASON_APPROXIMATE;
    }));
  }
  const double debt = DebtOf(0);
  const double drained = kUnitsASecond * absl::ToDoubleSeconds(Now() - began);
  std::printf("owed then: %.1f; %.1f without what was admitted meanwhile\n", debt,
              kOwedAtFirst - drained);
  EXPECT_GE(debt, kOwedAtFirst - drained + admitted - 1);
  EXPECT_TRUE(WaitUntil([&] {
    const auto rows = servers_.store().RunSql(
        "SELECT coalesce(sum(checks), 0) FROM headgate_log.log WHERE reason = 'approximate'");
    return rows.ok() && std::stod((*rows)[0][0]) >= asked;
  }));
}

TEST_F(Approximate, BatchesAndChecksThatWouldWaitAreAnsweredAtOnce) {
  servers_.store().Kill();
  ASSERT_TRUE(AwaitApproximate());
  v1::BatchCheckRequest batch;
  for (const char* const identity : {"job:etl", "bad::identity"}) {
    v1::CheckRequest& check = *batch.add_checks();
    check.set_identity(identity);
    check.set_target("orders");
    check.set_estimated_cost(1000);
    check.mutable_max_wait()->set_seconds(60);
  }
  v1::BatchCheckResponse response;
  ASSERT_TRUE(servers_.Try(0, &v1::ThrottlerService::Stub::BatchCheck, batch, response).ok());
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).decision().reason(), v1::REASON_APPROXIMATE);
  EXPECT_EQ(response.results(1).error().code(),
            static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(response.results(1).error().message(), HasSubstr("identity"));
}

}  // namespace
}  // namespace headgate
