// Orders that take leases back: what a holder does with them, and that they reach it at once.

#include <headgate/fake.h>
#include <headgate/lease.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/lease_holder.h"
#include "client/lease_watch_pauses.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/client/real_server.h"
#include "tests/client/scripted_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using internal::Jitter;
using internal::LeaseHolder;
using internal::LeaseWatchPauses;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr int64_t kNow = 1'000'000'000'000;

// One who holds leases, with time that stands still.
class LeaseOrders : public ::testing::Test {
 protected:
  void Grant(double amount, uint64_t state) {
    Answer answer{
        .verdict = Verdict::kAllowed,
        .lease = GrantedLease{.amount = amount, .time = absl::Seconds(10), .state = state}};
    answer.permit_id = ++permit_;
    holder_.OnAnswer(answer, kNow);
  }
  void Hold(double amount, uint64_t state) {
    ASSERT_TRUE(holder_.NextAsk(kNow).has_value());
    Grant(amount, state);
  }
  bool Admits() { return holder_.Admit(1, kNow).admitted; }

  Jitter jitter_{7};
  LeaseHolder holder_{{.identity = "job:etl", .time = absl::Seconds(10)}, jitter_};
  uint64_t permit_ = 0;
};

TEST_F(LeaseOrders, TakeBackWhatWasGrantedInAnotherStateAndAskForMoreAtOnce) {
  Hold(10, 1);
  EXPECT_TRUE(Admits());
  holder_.OnState(2, kNow);
  EXPECT_FALSE(Admits());
  const std::optional<CheckRequest> ask = holder_.NextAsk(kNow);
  ASSERT_TRUE(ask.has_value());
  ASSERT_TRUE(ask->lease->returned.has_value());
  EXPECT_EQ(ask->lease->returned->permit_id, 1);
  EXPECT_EQ(ask->lease->returned->lease_use->spent, 1);
}

TEST_F(LeaseOrders, LeaveWhatWasGrantedInTheirState) {
  Hold(10, 2);
  holder_.OnState(2, kNow);
  EXPECT_TRUE(Admits());
  EXPECT_THAT(holder_.TakeReturns(), IsEmpty());
}

TEST_F(LeaseOrders, OfTwoLeasesTakeTheOneThatIsOlder) {
  Hold(2, 1);
  EXPECT_TRUE(Admits());
  Hold(2, 2);
  holder_.OnState(2, kNow);
  EXPECT_THAT(holder_.TakeReturns(), SizeIs(1));
  EXPECT_TRUE(Admits());
  EXPECT_TRUE(Admits());
  EXPECT_FALSE(Admits());
}

TEST_F(LeaseOrders, GiveBackWhatNothingWasUsedOfAndAskForNothing) {
  Hold(10, 1);
  EXPECT_FALSE(holder_.IsIdle());
  holder_.OnState(2, kNow);
  EXPECT_THAT(holder_.TakeReturns(), SizeIs(1));
  EXPECT_FALSE(holder_.NextAsk(kNow).has_value());
  EXPECT_TRUE(holder_.IsIdle());
}

// The answer was decided before the order, and overtaken by it.
TEST_F(LeaseOrders, TakeBackWhatAnAnswerUnderWayGrantsInAnotherState) {
  ASSERT_TRUE(holder_.NextAsk(kNow).has_value());
  holder_.OnState(2, kNow);
  Grant(10, 1);
  EXPECT_FALSE(Admits());
  const std::optional<CheckRequest> ask = holder_.NextAsk(kNow);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->lease->returned->permit_id, 1);
  Grant(10, 2);
  EXPECT_TRUE(Admits());
}

TEST_F(LeaseOrders, LeaveWhatAnAnswerUnderWayGrantsInTheirState) {
  ASSERT_TRUE(holder_.NextAsk(kNow).has_value());
  holder_.OnState(2, kNow);
  Grant(10, 2);
  EXPECT_TRUE(Admits());
}

// What was asked for afterwards can only have been decided later.
TEST_F(LeaseOrders, LeaveWhatIsGrantedInANewerState) {
  holder_.OnState(1, kNow);
  Hold(10, 2);
  EXPECT_TRUE(Admits());
}

TEST_F(LeaseOrders, EndADenial) {
  holder_.OnState(1, kNow);
  ASSERT_TRUE(holder_.NextAsk(kNow).has_value());
  holder_.OnAnswer({.reason = Reason::kDenyRule}, kNow);
  EXPECT_EQ(holder_.Admit(1, kNow).retry_after, std::nullopt);
  EXPECT_FALSE(holder_.NextAsk(kNow).has_value());
  holder_.OnState(2, kNow);
  EXPECT_TRUE(holder_.NextAsk(kNow).has_value());
}

TEST_F(LeaseOrders, AreNoneOfOneThatIsClosed) {
  Hold(10, 1);
  holder_.Close();
  EXPECT_TRUE(holder_.IsIdle());
  EXPECT_THAT(holder_.TakeReturns(), SizeIs(1));
  holder_.OnState(2, kNow);
  EXPECT_THAT(holder_.TakeReturns(), IsEmpty());
}

TEST(LeaseWatchPauses, AreNoneAfterAnAnswerThatTellsSomethingOrCameInItsTime) {
  Jitter jitter(7);
  LeaseWatchPauses pauses(jitter);
  EXPECT_EQ(pauses.After(absl::OkStatus(), {.changed = true}), absl::ZeroDuration());
  EXPECT_EQ(pauses.After(absl::OkStatus(), {.took = LeaseWatchPauses::kMaxWait}),
            absl::ZeroDuration());
  EXPECT_EQ(pauses.After(absl::CancelledError(""), {}), absl::ZeroDuration());
}

TEST(LeaseWatchPauses, GrowWithFailuresAndBeginAnewAfterAnAnswer) {
  Jitter jitter(7);
  LeaseWatchPauses pauses(jitter);
  const absl::Status away = absl::UnavailableError("");
  EXPECT_THAT(pauses.After(away, {}),
              AllOf(Ge(absl::Milliseconds(25)), Le(absl::Milliseconds(50))));
  for (int i = 0; i < 10; ++i) pauses.After(away, {});
  EXPECT_THAT(pauses.After(away, {}), AllOf(Ge(absl::Seconds(1)), Le(absl::Seconds(2))));
  pauses.After(absl::OkStatus(), {.changed = true});
  // One that answers at once that nothing has changed is as one that fails.
  EXPECT_THAT(pauses.After(absl::OkStatus(), {}),
              AllOf(Ge(absl::Milliseconds(25)), Le(absl::Milliseconds(50))));
}

TEST(LeaseWatchPauses, AreNoShorterThanTheServerSays) {
  Jitter jitter(7);
  LeaseWatchPauses pauses(jitter);
  absl::Status full = absl::ResourceExhaustedError("");
  SetRetryDelay(absl::Seconds(5), full);
  EXPECT_GE(pauses.After(full, {}), absl::Seconds(5));
}

TEST(LeaseWatchPauses, AreLongWhereTheServerDoesNotKnowTheCallOrRefusesIt) {
  Jitter jitter(7);
  LeaseWatchPauses pauses(jitter);
  for (const absl::Status& status : {absl::UnimplementedError(""), absl::InvalidArgumentError(""),
                                     absl::NotFoundError(""), absl::PermissionDeniedError("")}) {
    EXPECT_GE(pauses.After(status, {}), LeaseWatchPauses::kUnknown);
  }
}

TEST(FakeOrders, TakeBackWhatIsHeld) {
  FakeHeadgate headgate;
  const auto client = *headgate.NewClient({.on_unreachable = OnUnreachable::Fail()});
  const auto lease =
      *client->NewLease({.identity = "job:etl", .piece = 1, .time = absl::Seconds(10)});
  ASSERT_TRUE(lease->Wait(1, absl::InfiniteDuration()).ok());
  headgate.SetHandler([](const CheckRequest&) { return Answer{.reason = Reason::kDenyRule}; });
  headgate.TakeBackLeases();
  EXPECT_TRUE(WaitUntil([&] { return lease->Admit(1).reason == Reason::kDenyRule; }));
  EXPECT_TRUE(WaitUntil([&] { return headgate.outstanding().empty(); }));
}

// The server's time stands still, so that no lease ends by itself.
class OrdersOfAServer : public ::testing::Test {
 protected:
  static engine::PolicySpec Usual() {
    return engine::OneBudget(engine::RateBudget("rows", 1000, 1000));
  }
  void Install(engine::PolicySpec spec) {
    ASSERT_TRUE(server_.engine.Install(std::move(spec), server_.clock.Read()).ok());
  }
  std::unique_ptr<Lease> HoldingLease() {
    auto lease = *client_->NewLease({.piece = 1, .time = absl::Seconds(10)});
    EXPECT_TRUE(lease->Wait(1, kForever).ok());
    EXPECT_TRUE(WaitUntil([&] { return server_.line_stats().watches == 1; }));
    return lease;
  }

  RealServer server_{Usual()};
  std::unique_ptr<Client> client_ = server_.NewClient(Options());
};

TEST_F(OrdersOfAServer, APauseReachesAHolderBeforeItsLeaseEnds) {
  const auto lease = HoldingLease();
  engine::PolicySpec paused = Usual();
  paused.rules.push_back(engine::RuleOn("pause", "etl", engine::DenyAction{}));
  Install(std::move(paused));
  EXPECT_TRUE(WaitUntil([&] { return lease->Admit(1).reason == Reason::kDenyRule; }));
  EXPECT_TRUE(WaitUntil([&] { return server_.permits() == 0; }));
  const LeaseStats stats = lease->stats();
  EXPECT_EQ(stats.held, 0);
  EXPECT_NEAR(server_.Debt("backfill:etl"), stats.spent, 1e-6);
  // And so does its end.
  Install(Usual());
  EXPECT_TRUE(WaitUntil([&] { return lease->Admit(1).admitted; }));
}

TEST_F(OrdersOfAServer, WhatDoesNotConcernAHolderTakesNothingFromIt) {
  const auto lease = HoldingLease();
  const double held = lease->stats().held;
  ASSERT_GT(held, 0);
  engine::PolicySpec paused = Usual();
  paused.rules.push_back(engine::RuleOn("pause", "other:etl", engine::DenyAction{}));
  Install(std::move(paused));
  // Looked at by now: whoever came later is.
  WaitUntil([&] { return server_.line_stats().watches == 1; });
  EXPECT_EQ(lease->stats().held, held);
}

// Of a server, or a transport, that does not know how to wait for orders.
class TransportWithoutOrders final : public Transport {
 public:
  explicit TransportWithoutOrders(std::shared_ptr<Transport> next) : next_(std::move(next)) {}

  absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                               const std::stop_token& stop) override {
    return next_->Check(request, timeout, stop);
  }
  absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration timeout,
      const std::stop_token& stop) override {
    return next_->Report(reports, timeout, stop);
  }

 private:
  const std::shared_ptr<Transport> next_;
};

// The time of a lease counts from when it was asked for: so a round trip is in it.
TEST_F(OrdersOfAServer, WithoutThemAPauseReachesAHolderWhenItsLeaseIsOver) {
  const auto client = server_.NewClient(
      Options(), std::make_shared<TransportWithoutOrders>(NewGrpcTransport(server_.address())));
  const auto lease = *client->NewLease({.piece = 1, .time = absl::Seconds(10)});
  ASSERT_TRUE(lease->Wait(1, kForever).ok());
  // Half of what is held is left, so that nothing is asked for.
  ASSERT_GT(lease->stats().held, 5);
  engine::PolicySpec paused = Usual();
  paused.rules.push_back(engine::RuleOn("pause", "etl", engine::DenyAction{}));
  Install(std::move(paused));
  EXPECT_TRUE(lease->Admit(1).admitted);
  server_.Advance(absl::Seconds(10));
  EXPECT_FALSE(lease->Admit(1).admitted);
  EXPECT_TRUE(WaitUntil([&] { return lease->Admit(1).reason == Reason::kDenyRule; }));
}

TEST_F(OrdersOfAServer, NobodyWatchesWhereNothingIsHeldOrWanted) {
  const auto lease = HoldingLease();
  lease->Close();
  EXPECT_TRUE(WaitUntil([&] { return server_.line_stats().watches == 0; }));
}

}  // namespace
}  // namespace headgate::client
