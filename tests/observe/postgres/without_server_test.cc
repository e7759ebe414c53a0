// What takes no server: counters, WAL positions, errors, host lookups.

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "server/observe/postgres/counter_window.h"
#include "server/observe/postgres/quarantine.h"
#include "server/observe/postgres/resolver.h"
#include "server/observe/postgres/signal_reader.h"
#include "server/observe/postgres/sql_error.h"
#include "server/observe/postgres/wal_timeline.h"

namespace headgate::postgres {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CounterWindow, GrowthIsOfTheWindowAndNothingAtFirst) {
  CounterWindow window(absl::Seconds(10));
  window.Add(100, 5);
  EXPECT_EQ(window.seconds(), 0);
  for (int second = 101; second <= 130; ++second) window.Add(second, second <= 110 ? 5 : 6);
  EXPECT_EQ(window.seconds(), 10);
  EXPECT_EQ(window.growth(), 0);
  window.Add(131, 9);
  EXPECT_EQ(window.seconds(), 10);
  EXPECT_EQ(window.growth(), 3);
}

TEST(CounterWindow, ManyReadingsCoverTheWindowStill) {
  CounterWindow window(absl::Seconds(10));
  for (int i = 0; i <= 10000; ++i) window.Add(i * 0.01, i);
  EXPECT_NEAR(window.seconds(), 10, 10.0 / 32 + 0.01);
  EXPECT_NEAR(window.growth() / window.seconds(), 100, 1e-6);
}

TEST(CounterWindow, ThatRunsBackwardsStartsOver) {
  CounterWindow window(absl::Seconds(10));
  window.Add(1, 100);
  window.Add(2, 200);
  window.Add(3, 7);
  EXPECT_EQ(window.seconds(), 0);
  window.Add(4, 9);
  EXPECT_EQ(window.growth(), 2);
  window.Add(3, 9);
  EXPECT_EQ(window.seconds(), 0);
}

constexpr int64_t kSecondNs = 1'000'000'000;

TEST(Quarantine, HoldsWhatSpoiltItsSessionForAWhileAndSaysWhy) {
  Quarantine quarantine;
  quarantine.NoteSpoilt("BEGIN", absl::FailedPreconditionError("BEGIN is not a query"), 0);
  EXPECT_EQ(quarantine.Check("BEGIN", 29 * kSecondNs),
            absl::FailedPreconditionError("BEGIN is not a query; not asked again for 30s"));
  EXPECT_TRUE(quarantine.Check("SELECT 1", 0).ok());
  EXPECT_TRUE(quarantine.Check("BEGIN", 30 * kSecondNs).ok());
}

TEST(Quarantine, SessionLostOnceMayBeSomebodyElsesDoing) {
  Quarantine quarantine;
  const absl::Status lost = absl::UnavailableError("terminating connection");
  quarantine.NoteLost("SELECT 1", lost, 0);
  EXPECT_TRUE(quarantine.Check("SELECT 1", 0).ok());
  quarantine.NoteKept("SELECT 1");
  quarantine.NoteLost("SELECT 1", lost, kSecondNs);
  EXPECT_TRUE(quarantine.Check("SELECT 1", kSecondNs).ok());
  quarantine.NoteLost("SELECT 1", lost, 600 * kSecondNs);
  EXPECT_TRUE(absl::IsUnavailable(quarantine.Check("SELECT 1", 601 * kSecondNs)));
}

TEST(Quarantine, OneThatLosesASessionAgainAfterThePauseIsHeldAtOnce) {
  Quarantine quarantine;
  const absl::Status lost = absl::UnavailableError("terminating connection");
  for (int i = 0; i < 2; ++i) quarantine.NoteLost("SELECT 1", lost, 0);
  EXPECT_TRUE(quarantine.Check("SELECT 1", 30 * kSecondNs).ok());
  quarantine.NoteLost("SELECT 1", lost, 31 * kSecondNs);
  EXPECT_FALSE(quarantine.Check("SELECT 1", 32 * kSecondNs).ok());
}

TEST(WalTimeline, BoundsTheAgeOfWhatIsNotReplayed) {
  WalTimeline timeline;
  timeline.Add(10, 1000);
  timeline.Add(11, 1000);
  timeline.Add(12, 2000);
  timeline.Add(13, 3000);
  EXPECT_EQ(timeline.AgeBehind(1000, 13).at_least, 1);  // up to 2000 was there at 12
  EXPECT_EQ(timeline.AgeBehind(1000, 13).at_most, 2);   // and was not yet at 11
  EXPECT_EQ(timeline.AgeBehind(3000, 13).at_most, 0);
  EXPECT_EQ(timeline.AgeBehind(500, 13).at_least, 3);
  EXPECT_GT(timeline.AgeBehind(500, 13).at_most, 1e9);
}

TEST(WalTimeline, StaysTrueAsItThinsOut) {
  WalTimeline timeline;
  for (int i = 0; i < 100'000; ++i) timeline.Add(i, i);
  for (const int replayed : {10, 50'000, 99'000, 99'990}) {
    const double due = 99'999 - (replayed + 1);
    const WalTimeline::Age age = timeline.AgeBehind(replayed, 99'999);
    EXPECT_LE(age.at_least, due);
    EXPECT_GE(age.at_least, due * 0.9);
    EXPECT_GE(age.at_most, due);
    EXPECT_LE(age.at_most, due * 1.1 + 1);
  }
}

// One poll of the primary with one standby, whose row is `row`.
class Replay {
 public:
  health::Reading At(double now, const std::vector<std::optional<std::string>>& row,
                     const std::string& signal = "replication_lag_seconds") {
    health::SignalQuery query{.signal = signal, .sql = {}, .of = {}};
    query.of.resize(1);
    query.of[0].name = "s";
    query.of[0].application_name = "s";
    std::vector<health::Reading> readings;
    reader_.BeginPoll(now, "2026");
    reader_.Read(query, Table{row}, readings);
    EXPECT_EQ(readings.size(), 1u);
    return readings[0];
  }

 private:
  SignalReader reader_{std::nullopt};
};

TEST(SignalReader, ReplayLagThatSticksHighIsBoundedByPositions) {
  Replay replay;
  EXPECT_EQ(replay.At(10, {"1000", "s", "streaming", "1000", "30"}).value, 0);
  // Written since 10, whatever replay_lag still says of the past.
  EXPECT_EQ(replay.At(11, {"2000", "s", "streaming", "1000", "30"}).value, 1);
}

TEST(SignalReader, ReplayLagThatSticksLowIsBoundedByPositions) {
  Replay replay;
  replay.At(10, {"1000", "s", "streaming", "1000", "0.001"});
  replay.At(11, {"2000", "s", "streaming", "1000", "0.001"});
  EXPECT_EQ(replay.At(20, {"2000", "s", "streaming", "1000", "0.001"}).value, 9);
  EXPECT_EQ(replay.At(21, {"2000", "s", "streaming", "1000", std::nullopt}).value, 10);
}

TEST(SignalReader, LagThatCannotBeKnownIsAnError) {
  Replay replay;
  EXPECT_EQ(replay.At(1, {"1000", "s", "streaming", "900", std::nullopt}).value, 0);  // close
  EXPECT_THAT(replay.At(2, {"99000000", "s", "streaming", "900", std::nullopt}).error,
              HasSubstr("not known yet"));
}

TEST(SignalReader, StandbyThatDoesNotStreamIsAnErrorThatSaysWhatItDoes) {
  Replay replay;
  EXPECT_THAT(replay.At(1, {"9", "s", "catchup", "1", "0.1"}).error, HasSubstr("(catchup)"));
  EXPECT_THAT(replay.At(2, {"9", "s", "streaming", std::nullopt, std::nullopt}).error,
              HasSubstr("nothing yet"));
  EXPECT_THAT(replay.At(3, {"9", std::nullopt, std::nullopt, std::nullopt, std::nullopt}).error,
              HasSubstr("not streaming"));
}

TEST(SignalReader, OfTwoStandbysUnderOneNameTheOneBehindCounts) {
  SignalReader reader(std::nullopt);
  health::SignalQuery query{.signal = "replication_lag_bytes", .sql = {}, .of = {}};
  query.of.resize(1);
  query.of[0].application_name = "s";
  std::vector<health::Reading> readings;
  reader.BeginPoll(1, "2026");
  reader.Read(query,
              Table{{"1000", "s", "streaming", "1000", "0"},
                    {"1000", "s", "streaming", "400", "0"},
                    {"1000", "other", "streaming", "1", "0"}},
              readings);
  EXPECT_EQ(readings[0].value, 600);
}

TEST(SignalReader, BackendFsyncsAreARate) {
  SignalReader reader(std::nullopt);
  const health::SignalQuery query{.signal = "backend_fsyncs_per_second", .sql = {}, .of = {}};
  std::vector<health::Reading> readings;
  reader.BeginPoll(1, "2026");
  reader.Read(query, Table{{"0", "0", "7"}}, readings);
  EXPECT_TRUE(readings.empty());
  reader.BeginPoll(3, "2026");
  reader.Read(query, Table{{"0", "0", "11"}}, readings);
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].value, 2);
}

TEST(ConnectError, TakesTheSqlStateFromTheMessageInAnyLanguage) {
  const absl::Status status = ConnectError(
      "connection to server at \"db\" (10.0.0.1), port 5432 failed: FATAL:  28P01: Passwort "
      "falsch\n"
      "LOCATION:  auth_failed, auth.c:338\n");
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()), testing::EndsWith("28P01: Passwort falsch"));
  EXPECT_TRUE(absl::IsUnavailable(ConnectError("FATAL:  53300: too many clients")));
  EXPECT_TRUE(absl::IsUnavailable(ConnectError("connection refused")));
  EXPECT_TRUE(absl::IsUnavailable(ConnectError("")));
}

class ResolverTest : public testing::Test {
 protected:
  SystemClock clock_;
  SocketWaiter waiter_;
};

TEST_F(ResolverTest, FindsAddresses) {
  Resolver resolver;
  absl::StatusOr<std::vector<std::string>> found =
      resolver.Resolve("localhost", waiter_, Deadline(clock_, absl::Seconds(30)));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, testing::Contains("127.0.0.1"));
}

// Has something done at its second reading: at the first a deadline is set, and at the second it is
// waited for.
class ActingClock : public Clock {
 public:
  explicit ActingClock(std::function<void()> act) : act_(std::move(act)) {}
  Now Read() override {
    if (++readings_ == 2) act_();
    return clock_.Read();
  }

 private:
  SystemClock clock_;
  std::function<void()> act_;
  int readings_ = 0;
};

TEST_F(ResolverTest, ALookupThatHangsIsGivenUpAndJoinedLater) {
  auto answer = std::make_shared<std::promise<std::string>>();
  auto lookups = std::make_shared<std::atomic<int>>(0);
  Resolver resolver([answer, lookups](const std::string&) {
    lookups->fetch_add(1);  // sequentially consistent: a test
    return absl::StatusOr<std::vector<std::string>>({answer->get_future().get()});
  });
  const absl::Duration soon = absl::Milliseconds(20);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        absl::IsDeadlineExceeded(resolver.Resolve("db", waiter_, Deadline(clock_, soon)).status()));
  }
  waiter_.Cancel();
  EXPECT_TRUE(absl::IsCancelled(
      resolver.Resolve("db", waiter_, Deadline(clock_, absl::Seconds(30))).status()));
  // Not before the last call has joined: a lookup that is over is begun anew.
  ActingClock answering([&] { answer->set_value("10.0.0.7"); });
  SocketWaiter other;
  absl::StatusOr<std::vector<std::string>> found =
      resolver.Resolve("db", other, Deadline(answering, absl::Seconds(30)));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre("10.0.0.7"));
  EXPECT_EQ(lookups->load(), 1);  // sequentially consistent: a test
}

TEST_F(ResolverTest, AFailedLookupIsUnavailable) {
  Resolver resolver([](const std::string&) { return absl::UnavailableError("no such host"); });
  const Deadline deadline(clock_, absl::Seconds(30));
  EXPECT_TRUE(absl::IsUnavailable(resolver.Resolve("db", waiter_, deadline).status()));
}

}  // namespace
}  // namespace headgate::postgres
