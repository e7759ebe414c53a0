// CheckOrWait with a server that lets Checks wait in its line, in virtual time.

#include <headgate/client.h>
#include <headgate/fake.h>

#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

std::vector<absl::Duration> WaitsAskedFor(const FakeHeadgate& headgate) {
  std::vector<absl::Duration> waits;
  for (const CheckRequest& check : headgate.checks()) waits.push_back(check.max_wait);
  return waits;
}

// One that has had an answer, and so expects the next one.
std::unique_ptr<Client> AnsweredClient(FakeHeadgate& headgate,
                                       const ClientOptions& options = Options()) {
  std::unique_ptr<Client> client = NewClient(headgate, options);
  EXPECT_TRUE(client->Check({.validate_only = true}).ok());
  return client;
}

TEST(WaitInLine, LastsExactlyAsLongAsTheDenial) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate);
  headgate.Deny(absl::Seconds(4));
  const auto permit = client->CheckOrWait({}, absl::Minutes(1));
  ASSERT_TRUE(permit.ok()) << permit.status();
  EXPECT_EQ(permit->answer().waited, absl::Seconds(4));
  EXPECT_THAT(headgate.time().Waits(), ElementsAre(absl::Seconds(4)));
  EXPECT_THAT(headgate.checks(), SizeIs(2));
}

TEST(WaitInLine, GivesTheCallTimeForTheWayBack) {
  class Timeouts final : public Transport {
   public:
    absl::StatusOr<Answer> Check(const CheckRequest& request, absl::Duration timeout,
                                 const std::stop_token&) override {
      spare.push_back(timeout - request.max_wait);
      return Answer{.verdict = Verdict::kAllowed};
    }
    absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
        absl::Span<const PermitReport>, absl::Duration, const std::stop_token&) override {
      return absl::UnavailableError("takes no reports");
    }
    std::vector<absl::Duration> spare;
  };
  const auto transport = std::make_shared<Timeouts>();
  ClientOptions options = Options();
  options.time = std::make_shared<FakeTime>();
  const auto client = Take(Client::Create(options, transport));
  EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
  EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
  EXPECT_TRUE(client->Check({.max_wait = absl::Minutes(10)}).ok());
  EXPECT_THAT(transport->spare, ElementsAre(kCheckDeadline / 2, kCheckDeadline, kCheckDeadline));
}

TEST(WaitInLine, IsNotAskedForWhereNothingIsCharged) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate);
  headgate.Deny(absl::Seconds(4));
  EXPECT_TRUE(client->CheckOrWait({.validate_only = true}, kForever).ok());
  EXPECT_THAT(WaitsAskedFor(headgate), Each(absl::ZeroDuration()));
}

TEST(WaitInLine, EndsAtOnceWithADenialThatWaitingWillNotChange) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate);
  headgate.Deny(absl::Seconds(4));
  headgate.DenyForGood(Reason::kDenyRule);
  const absl::Status status = client->CheckOrWait({}, kForever).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(headgate.time().Waited(), absl::Seconds(4));
}

// It cuts a wait short, or only says that it has waited.
TEST(WaitInLine, DoesNotSpinWhateverTheServerSays) {
  for (const absl::Duration waited : {absl::Milliseconds(3), absl::Seconds(30)}) {
    PollingHeadgate headgate;
    const auto client = AnsweredClient(headgate);
    int asked = 0;
    headgate.SetHandler([&](const CheckRequest&) {
      if (++asked > 5) return Answer{.verdict = Verdict::kAllowed};
      return Answer{.retry_after = absl::Seconds(2), .waited = waited};
    });
    EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
    EXPECT_THAT(headgate.time().Waits(), AllOf(SizeIs(5), Each(Ge(absl::Seconds(2)))));
  }
}

TEST(WaitInLine, IsLeftInTheMiddleOfARealWait) {
  FakeHeadgate headgate;
  ClientOptions options = Options();
  options.time = NewRealTime();
  const auto client = AnsweredClient(headgate, options);
  headgate.Deny(absl::Hours(1));
  std::stop_source stop;
  absl::Status status;
  std::thread waiting(
      [&] { status = client->CheckOrWait({}, kForever, stop.get_token()).status(); });
  EXPECT_TRUE(WaitUntil([&] { return headgate.checks().size() == 2; }));
  stop.request_stop();
  waiting.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

absl::Status StoppingServer(absl::Duration retry_after) {
  absl::Status away = absl::UnavailableError("the server stops");
  SetRetryDelay(retry_after, away);
  return away;
}

class SentAway : public testing::TestWithParam<OnUnreachable> {};

// Neither is it an error, nor is the work allowed because nobody answers.
TEST_P(SentAway, ComesBackToTheNextServer) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate, Options(GetParam()));
  headgate.Fail(StoppingServer(absl::Seconds(1)));
  headgate.Deny(absl::Seconds(5));
  const auto permit = client->CheckOrWait({}, kForever);
  ASSERT_TRUE(permit.ok()) << permit.status();
  EXPECT_FALSE(permit->local());
  EXPECT_THAT(headgate.time().Waits().front(),
              AllOf(Ge(absl::Seconds(1)), Le(absl::Seconds(1.25))));
  EXPECT_THAT(WaitsAskedFor(headgate), ElementsAre(absl::ZeroDuration(), absl::Seconds(30),
                                                   kCheckDeadline / 2, absl::Seconds(30)));
}

INSTANTIATE_TEST_SUITE_P(Whatever, SentAway,
                         testing::Values(OnUnreachable::Fail(), OnUnreachable::Wait(),
                                         OnUnreachable::Proceed(), OnUnreachable::FloorRate(1)));

TEST(SentAwayByAServerThatStops, OutlastsARestartEvenWhereNobodyAnsweringIsAnError) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate, Options(OnUnreachable::Fail()));
  headgate.Fail(StoppingServer(absl::Seconds(1)));
  for (int i = 0; i < 12; ++i) headgate.Fail(absl::UnavailableError("connection refused"));
  EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
  EXPECT_LT(headgate.time().Waited(), absl::Seconds(10));
}

TEST(SentAwayByAServerThatStops, IsAnErrorInTheEndWhereNoServerComes) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate, Options(OnUnreachable::Fail()));
  bool stopped = false;
  headgate.SetHandler([&](const CheckRequest&) {
    return std::exchange(stopped, true) ? absl::UnavailableError("connection refused")
                                        : StoppingServer(absl::Seconds(1));
  });
  const absl::Status status = client->CheckOrWait({}, kForever).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(headgate.time().Waited(), AllOf(Ge(absl::Seconds(10)), Le(absl::Seconds(13))));
}

TEST(WaitInLine, TriesAgainWithinTheDeadlineWhenTheConnectionBreaks) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate);
  headgate.Fail(absl::UnavailableError("the connection broke"));
  headgate.Deny(absl::Seconds(5));
  EXPECT_TRUE(client->CheckOrWait({}, kForever).ok());
  const std::vector<absl::Duration> waits = WaitsAskedFor(headgate);
  ASSERT_THAT(waits, SizeIs(4));
  EXPECT_THAT(waits[2], AllOf(Ge(absl::Milliseconds(50)), Le(kCheckDeadline)));
  EXPECT_EQ(waits[3], absl::Seconds(30));
}

TEST(WaitInLine, SaysWithinTheDeadlineThatTheServerIsGone) {
  FakeHeadgate headgate;
  const auto client = AnsweredClient(headgate, Options(OnUnreachable::Fail()));
  headgate.SetNetwork(FakeHeadgate::Network::kDown);
  EXPECT_TRUE(absl::IsUnavailable(client->CheckOrWait({}, kForever).status()));
  EXPECT_LT(headgate.time().Waited(), kCheckDeadline);
}

TEST(Check, WaitsInTheServerForAsLongAsItSays) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  headgate.Deny(absl::Seconds(100));
  const auto denied = client->Check({.max_wait = absl::Seconds(60)});
  ASSERT_TRUE(denied.ok()) << denied.status();
  EXPECT_FALSE(denied->allowed());
  EXPECT_EQ(denied->waited, absl::Seconds(60));
  EXPECT_EQ(denied->retry_after, absl::Seconds(40));
  const auto allowed = client->Check({.max_wait = absl::Seconds(60)});
  EXPECT_TRUE(allowed->allowed());
  EXPECT_EQ(allowed->waited, absl::Seconds(40));
}

TEST(Check, RefusesAWaitThatIsNone) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  for (const absl::Duration wait : {-absl::Seconds(1), absl::InfiniteDuration()}) {
    const absl::Status status = client->Check({.max_wait = wait}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("max_wait"));
  }
  EXPECT_THAT(headgate.checks(), IsEmpty());
}

TEST(FakeHeadgate, KeepsWhatIsLeftOfADenialForTheNextCheck) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  headgate.Deny(absl::Seconds(10), Reason::kHealth);
  EXPECT_EQ(client->Check({.max_wait = absl::Seconds(4)})->retry_after, absl::Seconds(6));
  const auto rest = client->Check({});
  EXPECT_EQ(rest->reason, Reason::kHealth);
  EXPECT_EQ(rest->retry_after, absl::Seconds(6));
  EXPECT_EQ(rest->waited, std::nullopt);
  EXPECT_TRUE(client->Check({})->allowed());
}

TEST(FakeHeadgate, AsksItsHandlerAgainWhenTheDenialIsOver) {
  FakeHeadgate headgate;
  const absl::Duration open_at = headgate.time().Now() + absl::Seconds(9);
  headgate.SetHandler([&](const CheckRequest&) {
    if (headgate.time().Now() >= open_at) return Answer{.verdict = Verdict::kAllowed};
    return Answer{.retry_after = absl::Seconds(2)};
  });
  const auto answer = NewClient(headgate)->Check({.max_wait = absl::Minutes(1)});
  EXPECT_TRUE(answer->allowed());
  EXPECT_EQ(answer->waited, absl::Seconds(10));
  EXPECT_THAT(headgate.outstanding(), SizeIs(1));
}

TEST(FakeHeadgate, SendsAwayWhoWaitsWhenItsNetworkBreaks) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  headgate.SetHandler([&](const CheckRequest&) {
    headgate.SetNetwork(FakeHeadgate::Network::kDown);
    return Answer{.retry_after = absl::Seconds(2)};
  });
  EXPECT_TRUE(absl::IsUnavailable(client->Check({.max_wait = absl::Minutes(1)}).status()));
}

}  // namespace
}  // namespace headgate::client
