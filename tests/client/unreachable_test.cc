// What a client does while Headgate is unreachable, in virtual time.

#include <headgate/client.h>
#include <headgate/fake.h>

#include <vector>

#include "client/fallback.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"

namespace headgate::client {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Lt;
using ::testing::SizeIs;

void Disconnect(FakeHeadgate& headgate) { headgate.SetNetwork(FakeHeadgate::Network::kDown); }

TEST(Retry, OfUnavailableHappensWithinTheDeadlineUnderTheSameRequestId) {
  FakeHeadgate headgate;
  headgate.Fail(absl::UnavailableError("restarting"));
  headgate.Fail(absl::UnavailableError("restarting"));
  const auto client = NewClient(headgate);
  const auto answer = client->Check({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->local);
  const std::vector<CheckRequest> checks = headgate.checks();
  ASSERT_THAT(checks, SizeIs(3));
  EXPECT_FALSE(checks[0].request_id.empty());
  EXPECT_EQ(checks[1].request_id, checks[0].request_id);
  EXPECT_EQ(checks[2].request_id, checks[0].request_id);
  EXPECT_LT(headgate.time().Waited(), kCheckDeadline);
}

TEST(Retry, EndsWithTheDeadline) {
  FakeHeadgate headgate;
  Disconnect(headgate);
  EXPECT_TRUE(absl::IsUnavailable(NewClient(headgate)->Check({}).status()));
  EXPECT_GT(headgate.time().Waited(), absl::ZeroDuration());
  EXPECT_LT(headgate.time().Waited(), kCheckDeadline);
}

TEST(Retry, NeverHappensBeforeTheServerAllowsIt) {
  FakeHeadgate headgate;
  absl::Status away = absl::UnavailableError("draining");
  SetRetryDelay(absl::Milliseconds(200), away);
  headgate.Fail(away);
  EXPECT_TRUE(NewClient(headgate)->Check({}).ok());
  EXPECT_THAT(headgate.time().Waits(), Each(Ge(absl::Milliseconds(200))));
}

TEST(Retry, IsForUnavailableAlone) {
  for (const absl::Status& error :
       {absl::DeadlineExceededError("hung"), absl::InternalError("broken"),
        absl::ResourceExhaustedError("full"), absl::NotFoundError("no target")}) {
    FakeHeadgate headgate;
    headgate.Fail(error);
    EXPECT_EQ(NewClient(headgate)->Check({}).status(), error);
    EXPECT_THAT(headgate.checks(), SizeIs(1));
  }
}

TEST(OnUnreachableWait, KeepsAskingUntilHeadgateIsBack) {
  FakeHeadgate headgate;
  for (int i = 0; i < 100; ++i) headgate.Fail(absl::UnavailableError("restarting"));
  const auto permit =
      NewClient(headgate, Options(OnUnreachable::Wait()))->CheckOrWait({}, kForever);
  ASSERT_TRUE(permit.ok()) << permit.status();
  EXPECT_FALSE(permit->local());
  EXPECT_THAT(headgate.time().Waits(),
              Each(AllOf(Ge(absl::Milliseconds(5)), Le(absl::Seconds(2.5)))));
}

TEST(OnUnreachableWait, SaysAtTheDeadlineThatHeadgateWasAway) {
  FakeHeadgate headgate;
  Disconnect(headgate);
  const absl::Status status = NewClient(headgate, Options(OnUnreachable::Wait()))
                                  ->CheckOrWait({}, absl::Seconds(60))
                                  .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("the fake's network is down"));
  EXPECT_THAT(headgate.time().Waited(),
              AllOf(Ge(absl::Seconds(60)), Lt(absl::Seconds(60) + kCheckDeadline)));
}

TEST(Outage, HasOneCallAskOnBehalfOfAll) {
  internal::Fallback fallback(OnUnreachable::Proceed(), absl::Seconds(1));
  fallback.Failed(absl::ZeroDuration());
  EXPECT_FALSE(fallback.MayAsk(absl::Milliseconds(999)));
  EXPECT_TRUE(fallback.MayAsk(absl::Seconds(1)));
  EXPECT_FALSE(fallback.MayAsk(absl::Seconds(1)));  // while the one waits for its answer
}

TEST(OnUnreachableFloorRate, PacesCheckOrWait) {
  FakeHeadgate headgate;
  Disconnect(headgate);
  const auto client = NewClient(headgate, Options(OnUnreachable::FloorRate(10)));
  EXPECT_TRUE(client->CheckOrWait({.estimated_cost = 5}, kForever).ok());
  const absl::Duration began = headgate.time().Now();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(client->CheckOrWait({.estimated_cost = 5}, kForever)->local());
  }
  const absl::Duration took = headgate.time().Now() - began;
  EXPECT_GE(took, absl::Seconds(50));
  // Jitter is a quarter at most; asking the server again once a second adds its retries.
  EXPECT_LE(took, absl::Seconds(50) * 1.25 * 1.25);
}

internal::Fallback Floor(double rate) {
  return internal::Fallback(OnUnreachable::FloorRate(rate), absl::Seconds(1));
}

TEST(FloorRate, AllowsExactlyItsRateAndOneChunk) {
  internal::Fallback floor = Floor(10);
  int allowed = 0;
  for (int ms = 0; ms <= 10'000; ++ms) {
    if (floor.Decide({.estimated_cost = 5}, absl::Milliseconds(ms)).allowed()) ++allowed;
  }
  EXPECT_EQ(allowed, 21);  // at 0.0 s, 0.5 s, ... 10.0 s
}

TEST(FloorRate, NeverExceedsItsRateByRounding) {
  internal::Fallback floor = Floor(3);
  absl::Duration now;
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(floor.Decide({}, now).allowed());
    now += floor.Decide({}, now).retry_after.value();
  }
  EXPECT_GE(now, absl::Seconds(1000));
  EXPECT_LT(now, absl::Seconds(1000.001));
}

TEST(FloorRate, SavesNothingUpWhileIdle) {
  internal::Fallback floor = Floor(1);
  EXPECT_TRUE(floor.Decide({}, absl::ZeroDuration()).allowed());
  EXPECT_TRUE(floor.Decide({}, absl::Hours(1)).allowed());
  EXPECT_FALSE(floor.Decide({}, absl::Hours(1)).allowed());
}

TEST(FloorRate, CountsAMissingEstimateAsOneAndZeroAsNothing) {
  internal::Fallback floor = Floor(1);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(floor.Decide({.estimated_cost = 0}, absl::ZeroDuration()).allowed());
  EXPECT_TRUE(floor.Decide({}, absl::ZeroDuration()).allowed());
  EXPECT_EQ(floor.Decide({}, absl::ZeroDuration()).retry_after, absl::Seconds(1));
}

TEST(OnUnreachableFloorRate, RefusesAnEstimateThatTheServerWouldRefuse) {
  FakeHeadgate headgate;
  Disconnect(headgate);
  const auto client = NewClient(headgate, Options(OnUnreachable::FloorRate(10)));
  EXPECT_TRUE(absl::IsInvalidArgument(client->Check({.estimated_cost = 1.1e15}).status()));
  EXPECT_TRUE(client->Check({.estimated_cost = 1})->allowed());
}

TEST(FloorRate, IsNotChargedForValidation) {
  internal::Fallback floor = Floor(1);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(floor.Decide({.validate_only = true}, absl::ZeroDuration()).allowed());
}

}  // namespace
}  // namespace headgate::client
