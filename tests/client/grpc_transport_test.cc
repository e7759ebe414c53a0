// The client over real sockets: what is sent, what comes back, and servers that misbehave.

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <headgate/client.h>
#include <headgate/transport.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/client/scripted_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

ClientOptions OptionsFor(const std::string& address,
                         OnUnreachable on_unreachable = OnUnreachable::Fail()) {
  ClientOptions options = Options(on_unreachable);
  options.address = address;
  // Where nothing is expected to fail, a busy machine must not make it.
  options.check_deadline = absl::Seconds(30);
  return options;
}

std::unique_ptr<Client> Connect(const ClientOptions& options) {
  return Take(Client::Create(options));
}

ScriptedServer::Handler Answering(const v1::Decision& decision) {
  return [decision](grpc::ServerContext&, const v1::CheckRequest&, v1::CheckResponse& response) {
    *response.mutable_decision() = decision;
    return grpc::Status::OK;
  };
}

ScriptedServer::Handler Failing(const grpc::Status& status) {
  return [status](grpc::ServerContext&, const v1::CheckRequest&, v1::CheckResponse&) {
    return status;
  };
}

TEST(GrpcTransport, SendsAllOfARequest) {
  ScriptedServer server;
  const auto client = Connect(OptionsFor(server.address()));
  EXPECT_TRUE(client
                  ->Check({.identity = "job-7:etl",
                           .target = "orders",
                           .estimated_cost = 0,
                           .pattern = "insert-orders",
                           .tags = {{"team", "data"}},
                           .request_id = "r1",
                           .validate_only = true,
                           .max_wait = absl::Milliseconds(1500)})
                  .ok());
  const v1::CheckRequest sent = server.checks().front();
  EXPECT_EQ(sent.identity(), "job-7:etl");
  EXPECT_EQ(sent.target(), "orders");
  EXPECT_TRUE(sent.has_estimated_cost());
  EXPECT_EQ(sent.estimated_cost(), 0);
  EXPECT_EQ(sent.pattern(), "insert-orders");
  EXPECT_EQ(sent.tags().at("team"), "data");
  EXPECT_EQ(sent.request_id(), "r1");
  EXPECT_TRUE(sent.validate_only());
  EXPECT_EQ(sent.max_wait().seconds(), 1);
  EXPECT_EQ(sent.max_wait().nanos(), 500'000'000);
}

TEST(GrpcTransport, TellsAMissingEstimateFromZero) {
  ScriptedServer server;
  EXPECT_TRUE(Connect(OptionsFor(server.address()))->Check({}).ok());
  EXPECT_FALSE(server.checks().front().has_estimated_cost());
  EXPECT_FALSE(server.checks().front().has_max_wait());
}

TEST(GrpcTransport, ClientsSeedThemselvesSoThatTheirRequestIdsDiffer) {
  ScriptedServer server;
  EXPECT_TRUE(Connect(OptionsFor(server.address()))->Check({}).ok());
  EXPECT_TRUE(Connect(OptionsFor(server.address()))->Check({}).ok());
  EXPECT_FALSE(server.checks()[0].request_id().empty());
  EXPECT_NE(server.checks()[0].request_id(), server.checks()[1].request_id());
}

TEST(GrpcTransport, AnAddressIsNoUrl) {
  const auto client = Client::Create(OptionsFor("http://headgate:8080"));
  EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(client.status().message(), testing::HasSubstr("is a URL"));
}

v1::Decision HealthDenial() {
  v1::Decision decision;
  decision.set_verdict(v1::VERDICT_DENIED);
  decision.set_reason(v1::REASON_HEALTH);
  decision.set_predicted_cost(12);
  decision.mutable_retry_after()->set_seconds(1);
  decision.mutable_retry_after()->set_nanos(500'000'000);
  v1::Violation& violation = *decision.add_violations();
  violation.set_budget("etl-rows");
  violation.set_rule("slow-etl");
  violation.set_limit_kind(v1::LIMIT_KIND_PROBE);
  violation.set_level("etl");
  violation.set_observed(1.25);
  violation.set_limit(1);
  violation.set_signal("replication_lag_seconds on standby-2");
  violation.set_warn(true);
  v1::Health& health = *decision.mutable_health();
  health.set_profile("strict");
  health.set_state(v1::HEALTH_STATE_STALE);
  health.set_speed(0.5);
  health.set_pressure(1.25);
  health.set_signal("replication_lag_seconds on standby-2");
  health.mutable_sample_age()->set_seconds(7);
  decision.set_message("held back by replication lag");
  decision.set_priority(3);
  decision.set_chunk_scale(0.25);
  decision.mutable_waited()->set_seconds(3);
  return decision;
}

TEST(GrpcTransport, ReadsAllOfAnAnswer) {
  ScriptedServer server;
  server.OnCheck(Answering(HealthDenial()));
  const auto answer = Connect(OptionsFor(server.address()))->Check({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->verdict, Verdict::kDenied);
  EXPECT_EQ(answer->reason, Reason::kHealth);
  EXPECT_EQ(answer->permit_id, std::nullopt);
  EXPECT_EQ(answer->predicted_cost, 12);
  EXPECT_EQ(answer->retry_after, absl::Seconds(1.5));
  EXPECT_EQ(answer->message, "held back by replication lag");
  EXPECT_EQ(answer->priority, 3);
  EXPECT_EQ(answer->chunk_scale, 0.25);
  EXPECT_EQ(answer->waited, absl::Seconds(3));
  EXPECT_FALSE(answer->local);
}

TEST(GrpcTransport, ReadsViolationsAndHealth) {
  ScriptedServer server;
  server.OnCheck(Answering(HealthDenial()));
  const auto answer = Connect(OptionsFor(server.address()))->Check({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_THAT(answer->violations, SizeIs(1));
  const Violation& violation = answer->violations.front();
  EXPECT_EQ(violation.budget, "etl-rows");
  EXPECT_EQ(violation.rule, "slow-etl");
  EXPECT_EQ(violation.limit_kind, LimitKind::kProbe);
  EXPECT_EQ(violation.level, "etl");
  EXPECT_EQ(violation.observed, 1.25);
  EXPECT_EQ(violation.limit, 1);
  EXPECT_EQ(violation.signal, "replication_lag_seconds on standby-2");
  EXPECT_TRUE(violation.warn);
  EXPECT_EQ(violation.retry_after, std::nullopt);
  ASSERT_TRUE(answer->health.has_value());
  EXPECT_EQ(answer->health->profile, "strict");
  EXPECT_EQ(answer->health->state, HealthState::kStale);
  EXPECT_EQ(answer->health->speed, 0.5);
  EXPECT_EQ(answer->health->pressure, 1.25);
  EXPECT_EQ(answer->health->sample_age, absl::Seconds(7));
}

TEST(GrpcTransport, TakesWordsOfANewerServerForUnknown) {
  ScriptedServer server;
  v1::Decision decision = HealthDenial();
  decision.set_reason(static_cast<v1::Reason>(99));
  decision.mutable_violations(0)->set_limit_kind(static_cast<v1::LimitKind>(99));
  decision.mutable_health()->set_state(static_cast<v1::HealthState>(99));
  server.OnCheck(Answering(decision));
  const auto answer = Connect(OptionsFor(server.address()))->Check({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->reason, Reason::kUnknown);
  EXPECT_EQ(answer->violations.front().limit_kind, LimitKind::kUnknown);
  EXPECT_EQ(answer->health->state, HealthState::kUnknown);
}

TEST(GrpcTransport, TakesAnAnswerWithoutAVerdictForAnError) {
  ScriptedServer server;
  server.OnCheck(Answering({}));
  const absl::Status status = Connect(OptionsFor(server.address()))->Check({}).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
}

TEST(GrpcTransport, HandsOverErrorsWithTheirRetryDelay) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(2);
  google::rpc::Status details;
  details.add_details()->PackFrom(google::rpc::ErrorInfo());
  details.add_details()->PackFrom(info);
  ScriptedServer server;
  server.OnCheck(Failing(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "table is full",
                                      details.SerializeAsString())));
  const absl::Status status = Connect(OptionsFor(server.address()))->Check({}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("table is full"));
  EXPECT_EQ(RetryDelay(status), absl::Seconds(2));
}

TEST(GrpcTransport, BearsErrorDetailsThatAreNone) {
  ScriptedServer server;
  server.OnCheck(
      Failing(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "identity", "\x1a\xff no proto")));
  const absl::Status status = Connect(OptionsFor(server.address()))->Check({}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(RetryDelay(status), std::nullopt);
}

TEST(GrpcTransport, GivesUpOnAHungServerAtTheDeadline) {
  ScriptedServer server;
  server.Hang();
  ClientOptions options = OptionsFor(server.address());
  options.check_deadline = absl::Milliseconds(100);
  const absl::Status status = Connect(options)->Check({}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST(GrpcTransport, GivesUpOnAMachineThatNeverAnswersAtTheDeadline) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);  // and never accepts
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ClientOptions options = OptionsFor(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)));
  options.check_deadline = absl::Milliseconds(100);
  const absl::Status status = Connect(options)->Check({}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  close(listener);
}

// A client would try again until its deadline, and the last try may end with that.
TEST(GrpcTransport, IsUnavailableWhereNobodyListens) {
  ScriptedServer server;
  server.Stop();
  const absl::Status status =
      NewGrpcTransport(server.address())->Check({.identity = "etl"}, absl::Minutes(1), {}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(GrpcTransport, IsCancelledInTheMiddleOfACall) {
  ScriptedServer server;
  server.Hang();
  ClientOptions options = OptionsFor(server.address(), OnUnreachable::Wait());
  options.check_deadline = absl::Hours(1);
  const auto client = Connect(options);
  std::stop_source stop;
  absl::Status status;
  std::thread asking(
      [&] { status = client->CheckOrWait({}, kForever, stop.get_token()).status(); });
  EXPECT_TRUE(WaitUntil([&] { return server.checks().size() == 1; }));
  stop.request_stop();
  asking.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

// As one may that stops: nobody asked for it here.
TEST(GrpcTransport, AsksAgainWhenTheServerCutsACall) {
  ScriptedServer server;
  server.OnCheck(Failing({grpc::StatusCode::CANCELLED, "CANCELLED"}));
  const auto client = Connect(OptionsFor(server.address()));
  std::thread repair([&] {
    EXPECT_TRUE(WaitUntil([&] { return server.checks().size() >= 2; }));
    server.OnCheck(Answering(HealthDenial()));
  });
  const auto answer = client->Check({});
  repair.join();
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(server.checks().front().request_id(), server.checks().back().request_id());
}

TEST(GrpcTransport, DoesNotCallAtAllOnceCancelled) {
  ScriptedServer server;
  std::stop_source stop;
  stop.request_stop();
  const auto client = Connect(OptionsFor(server.address()));
  EXPECT_TRUE(absl::IsCancelled(client->Check({}, stop.get_token()).status()));
}

TEST(GrpcTransport, ReachesAServerThatWasRestarted) {
  ScriptedServer server;
  const auto client = Connect(OptionsFor(server.address(), OnUnreachable::Wait()));
  EXPECT_TRUE(client->Check({}).ok());
  server.Stop();
  absl::StatusOr<Permit> permit;
  std::thread asking([&] { permit = client->CheckOrWait({}, absl::Minutes(2)); });
  server.Start();
  asking.join();
  EXPECT_TRUE(server.started());
  EXPECT_TRUE(permit.ok()) << permit.status();
}

TEST(GrpcTransport, KeepsReportsForAServerThatIsRestarted) {
  ScriptedServer server;
  const auto client = Connect(OptionsFor(server.address()));
  EXPECT_TRUE(client->Check({}).ok());
  server.Stop();
  for (uint64_t permit = 1; permit <= 1500; ++permit) {
    EXPECT_TRUE(client->Report(permit, {.actual_cost = 0.5}).ok());
  }
  EXPECT_FALSE(client->Flush(absl::Milliseconds(1)));
  server.Start();
  EXPECT_TRUE(Flushed(*client));
  EXPECT_THAT(server.reports(), SizeIs(1500));
  EXPECT_EQ(client->report_stats().delivered, 1500U);
  EXPECT_EQ(client->report_stats().dropped, 0U);
}

}  // namespace
}  // namespace headgate::client
