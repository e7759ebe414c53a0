// The client and the real server and engine, over sockets, with time that both agree on.

#include <headgate/client.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/client/real_server.h"

namespace headgate::client {
namespace {

using engine::Budgets;
using engine::DenyAction;
using engine::RateBudget;
using engine::RuleOn;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

// Hands calls on.
class PassingTransport : public Transport {
 public:
  explicit PassingTransport(std::shared_ptr<Transport> next) : next_(std::move(next)) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override {
    return next_->Check(request, timeout, stop);
  }
  absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) final {
    return next_->Report(reports, timeout, stop);
  }

 private:
  const std::shared_ptr<Transport> next_;
};

// Loses the answers of the first few Checks.
class LossyTransport final : public PassingTransport {
 public:
  LossyTransport(std::shared_ptr<Transport> next, int losses)
      : PassingTransport(std::move(next)), losses_(losses) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override {
    absl::StatusOr<Answer> answer = PassingTransport::Check(request, timeout, stop);
    if (losses_-- > 0) return absl::UnavailableError("the connection broke");
    return answer;
  }

 private:
  int losses_;
};

// Ends a pause when the job has asked three times.
class ResumingTransport final : public PassingTransport {
 public:
  ResumingTransport(std::shared_ptr<Transport> next, std::function<void()> resume)
      : PassingTransport(std::move(next)), resume_(std::move(resume)) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override {
    if (++asked_ == 3) resume_();
    return PassingTransport::Check(request, timeout, stop);
  }

 private:
  const std::function<void()> resume_;
  int asked_ = 0;
};

// So the client waits by itself, by its own time, and asks again.
const line::LineOptions kNobodyWaits = {.max_waiting = 0};

TEST(ClientAndServer, APauseWithoutAnEndIsWaitedOut) {
  RealServer server(Budgets({RateBudget("rows", 10, 10)}),
                    InProcessOptions{.overrides = InProcessOptions::kKept, .lines = kNobodyWaits});
  overrides::CreateRequest pause;
  pause.kind = overrides::Kind::kPause;
  pause.selector.identity = "etl";
  pause.actor = "alice";
  pause.reason = "stuck shard";
  pause.expiry = overrides::Never();
  ASSERT_TRUE(server.registry->Create(pause).ok());
  const auto client = server.NewClient(
      Options(), std::make_shared<ResumingTransport>(NewGrpcTransport(server.address()), [&server] {
        const absl::StatusOr<overrides::Override> ended =
            server.registry->Delete({.id = 1, .actor = "bob", .reason = "it is over"});
        EXPECT_TRUE(ended.ok()) << ended.status();
      }));
  EXPECT_TRUE(client->CheckOrWait({.estimated_cost = 1}, kForever).ok());
  EXPECT_THAT(server.time().waits(), SizeIs(2));
}

TEST(ClientAndServer, WaitOfRetryAfterIsEnough) {
  RealServer server(Budgets({RateBudget("rows", 10, 10)}), InProcessOptions{.lines = kNobodyWaits});
  const auto client = server.NewClient(Options());
  EXPECT_TRUE(
      client->CheckOrWait({.estimated_cost = 10}, kForever)->Report({.actual_cost = 10}).ok());
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
  EXPECT_TRUE(
      client->CheckOrWait({.estimated_cost = 30}, kForever)->Report({.actual_cost = 42}).ok());
  ASSERT_TRUE(Flushed(*client));
  EXPECT_NEAR(server.Debt("backfill:etl"), 42, 0.001);
  EXPECT_EQ(client->report_stats().delivered, 1U);
}

engine::BudgetSpec BusyBudget(const std::string& name, double burst_seconds, double rate = 1e-6) {
  engine::BudgetSpec budget = RateBudget(name, rate, burst_seconds);
  budget.unit = engine::BudgetUnit::kBusyTime;
  return budget;
}

// What is owed to each budget.
std::map<std::string, double> Debts(RealServer& server, const std::string& identity) {
  v1::ExplainRequest request;
  request.mutable_check()->set_identity(identity);
  const v1::ExplainResponse explained =
      AnswerOf(server.channel, &v1::ThrottlerService::Stub::Explain, request);
  std::map<std::string, double> debts;
  for (const v1::BucketState& bucket : explained.buckets()) debts[bucket.budget()] = bucket.debt();
  return debts;
}

// Three seconds were a cost of 3: the budget of rows got 497 of 500 back, and limited nothing.
TEST(ClientAndServer, PermitChargesItsBusyTimeToBusyTimeAndLeavesRowsAsPredicted) {
  RealServer server(Budgets({RateBudget("rows", 1e-6, 1000), BusyBudget("busy", 100)}));
  const auto client = server.NewClient(Options());
  {
    const auto permit = client->CheckOrWait({.estimated_cost = 500}, kForever);
    ASSERT_TRUE(permit.ok()) << permit.status();
    EXPECT_TRUE(permit->answer().predicted_busy_time.has_value());
    server.time().Wait(absl::Seconds(3), {});
  }
  ASSERT_TRUE(Flushed(*client));
  EXPECT_NEAR(Debts(server, "backfill:etl")["rows"], 500, 0.01);
  EXPECT_NEAR(Debts(server, "backfill:etl")["busy"], 3, 0.01);
}

// A thousand rows were taken for a thousand seconds, and the job was locked out for a quarter of an
// hour.
TEST(ClientAndServer, RowsThatAreReportedToABudgetOfBusyTimeAreNoSeconds) {
  RealServer server(Budgets({BusyBudget("busy", 10)}));
  const auto client = server.NewClient(Options());
  for (int i = 0; i < 3; ++i) {
    auto permit = client->CheckOrWait({.estimated_cost = 1000}, kForever);
    ASSERT_TRUE(permit.ok()) << permit.status();
    server.time().Wait(absl::Milliseconds(200), {});
    ASSERT_TRUE(permit->Report({.actual_cost = 1000}).ok());
    ASSERT_TRUE(Flushed(*client));
  }
  EXPECT_NEAR(Debts(server, "backfill:etl")["busy"], 0.6, 0.01);
}

// A Permit of an hour where permits live for a minute: no busy time of so long is taken, but the
// work is done, and settles with the most that there may be.
TEST(ClientAndServer, ReportsAPermitThatWasHeldForTooLong) {
  RealServer server(Budgets({BusyBudget("busy", 1e5, 1e-3)}));
  const auto client = server.NewClient(Options());
  {
    const auto permit = client->CheckOrWait({}, kForever);
    ASSERT_TRUE(permit.ok()) << permit.status();
    server.time().Wait(absl::Hours(2), {});
  }
  ASSERT_TRUE(Flushed(*client));
  EXPECT_EQ(client->report_stats().delivered, 1U);
  EXPECT_EQ(client->report_stats().refused, 0U);
  EXPECT_NEAR(Debts(server, "backfill:etl")["busy"], 64 * 60, 2);
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

}  // namespace
}  // namespace headgate::client
