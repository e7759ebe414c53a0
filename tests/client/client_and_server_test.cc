// The client and the real server and engine, over sockets, with time that both agree on.

#include <headgate/client.h>

#include <memory>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/client/real_server.h"

namespace headgate::client {
namespace {

using engine::Budgets;
using engine::ConcurrencyBudget;
using engine::DenyAction;
using engine::ExemptAction;
using engine::RateBudget;
using engine::RuleOn;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

// Hands calls on, but loses the answers of the first few Checks.
class LossyTransport final : public Transport {
 public:
  LossyTransport(std::shared_ptr<Transport> next, int losses)
      : next_(std::move(next)), losses_(losses) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override {
    absl::StatusOr<Answer> answer = next_->Check(request, timeout, stop);
    if (losses_-- > 0) return absl::UnavailableError("the connection broke");
    return answer;
  }
  absl::StatusOr<std::vector<absl::StatusOr<ReportOutcome>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) override {
    return next_->Report(reports, timeout, stop);
  }

 private:
  const std::shared_ptr<Transport> next_;
  int losses_;
};

TEST(ClientAndServer, WaitOfRetryAfterIsEnough) {
  RealServer server(Budgets({RateBudget("rows", 10, 10)}));
  const auto client = server.NewClient(Options());
  EXPECT_TRUE(client->CheckOrWait({.estimated_cost = 10}, kForever)->Report(10).ok());
  ASSERT_TRUE(Flushed(*client));
  EXPECT_TRUE(client->CheckOrWait({.estimated_cost = 10}, kForever).ok());
  EXPECT_THAT(server.time().waits(),
              ElementsAre(AllOf(Ge(absl::Seconds(1)), Le(absl::Seconds(1.25)))));
}

TEST(ClientAndServer, RetryIsChargedOnce) {
  RealServer server(Budgets({RateBudget("rows", 1e-6, 100)}));
  const auto client = server.NewClient(
      Options(), std::make_shared<LossyTransport>(NewGrpcTransport(server.address()), 3));
  const auto answer = client->Check({.estimated_cost = 30});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->allowed());
  EXPECT_NEAR(server.Debt("backfill:etl"), 30, 0.001);
}

TEST(ClientAndServer, WaitThroughAnOutageIsChargedOnce) {
  RealServer server(Budgets({RateBudget("rows", 1e-6, 100)}));
  ClientOptions options = Options(OnUnreachable::Wait());
  const auto client = server.NewClient(
      options, std::make_shared<LossyTransport>(NewGrpcTransport(server.address()), 400));
  EXPECT_TRUE(client->CheckOrWait({.estimated_cost = 30}, kForever).ok());
  EXPECT_NEAR(server.Debt("backfill:etl"), 30, 0.001);
}

TEST(ClientAndServer, ReportSettlesTheDifference) {
  RealServer server(Budgets({RateBudget("rows", 1e-6, 100)}));
  const auto client = server.NewClient(Options());
  EXPECT_TRUE(client->CheckOrWait({.estimated_cost = 30}, kForever)->Report(42).ok());
  ASSERT_TRUE(Flushed(*client));
  EXPECT_NEAR(server.Debt("backfill:etl"), 42, 0.001);
  EXPECT_EQ(client->report_stats().delivered, 1U);
}

TEST(ClientAndServer, PermitReportsTheSecondsItTook) {
  RealServer server(Budgets({RateBudget("busy-seconds", 1e-6, 100)}));
  const auto client = server.NewClient(Options());
  {
    const auto permit = client->CheckOrWait({.estimated_cost = 1}, kForever);
    ASSERT_TRUE(permit.ok()) << permit.status();
    server.time().Wait(absl::Seconds(3), {});
  }
  ASSERT_TRUE(Flushed(*client));
  EXPECT_NEAR(server.Debt("backfill:etl"), 3, 0.001);
}

TEST(ClientAndServer, DestroyedPermitFreesItsPlace) {
  RealServer server(Budgets({ConcurrencyBudget("one-at-a-time", 1)}));
  const auto client = server.NewClient(Options());
  {
    const auto permit = client->CheckOrWait({}, kForever);
    ASSERT_TRUE(permit.ok()) << permit.status();
    const auto answer = client->Check({});
    EXPECT_EQ(answer->reason, Reason::kMaxConcurrency);
    EXPECT_THAT(answer->violations, SizeIs(1));
    EXPECT_EQ(answer->violations[0].budget, "one-at-a-time");
    EXPECT_THAT(answer->message, HasSubstr("one-at-a-time"));
  }
  ASSERT_TRUE(Flushed(*client));
  EXPECT_TRUE(client->Check({})->allowed());
}

TEST(ClientAndServer, DenialForGoodIsNotWaitedFor) {
  engine::PolicySpec policy = Budgets({RateBudget("rows", 10, 10)});
  policy.rules.push_back(RuleOn("not-now", "banned", DenyAction{}));
  RealServer server(std::move(policy));
  const auto client = server.NewClient(Options());
  const absl::Status too_large = client->CheckOrWait({.estimated_cost = 11}, kForever).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(too_large)) << too_large;
  EXPECT_THAT(too_large.ToString(), HasSubstr("rows"));
  const absl::Status banned = client->CheckOrWait({.identity = "banned"}, kForever).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(banned)) << banned;
  EXPECT_THAT(banned.ToString(), HasSubstr("not-now"));
  EXPECT_THAT(server.time().waits(), IsEmpty());
}

TEST(ClientAndServer, BadIdentityIsAnErrorThatNamesTheField) {
  RealServer server(Budgets({RateBudget("rows", 10, 10)}));
  const absl::Status status =
      server.NewClient(Options())->Check({.identity = "no spaces"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("identity"));
}

TEST(ClientAndServer, UnknownPermitIsRefusedAndCounted) {
  RealServer server(Budgets({RateBudget("rows", 10, 10)}));
  const auto client = server.NewClient(Options());
  EXPECT_TRUE(absl::IsNotFound(client->ReportNow(12345, 1).status()));
  EXPECT_TRUE(client->Report(12345, 1).ok());
  ASSERT_TRUE(Flushed(*client));
  EXPECT_EQ(client->report_stats().refused, 1U);
}

TEST(ClientAndServer, ReportNowTellsWhatCameOfIt) {
  RealServer server(Budgets({RateBudget("rows", 10, 10)}));
  const auto client = server.NewClient(Options());
  const uint64_t permit = client->Check({.estimated_cost = 1})->permit_id.value();
  EXPECT_EQ(*client->ReportNow(permit, 2), ReportOutcome::kSettled);
  EXPECT_EQ(*client->ReportNow(permit, 2), ReportOutcome::kAlreadySettled);
}

}  // namespace
}  // namespace headgate::client
