// Standbys: lag as both sides see it, and the many ways to be absent.

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "gmock/gmock.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

bool IsZero(double value) { return value == 0; }

class Standby : public ProbeTest {
 protected:
  void SetUp() override {
    ProbeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    PostgresProbeOptions options = On(primary());
    options.position = position_;
    of_primary_.emplace(options, clock_);
    options = On(standby(), ServerRole::kStandby);
    options.position = position_;
    of_standby_.emplace(options, clock_);
  }

  // standby_lag_seconds, with the primary asked before each look as a monitor does.
  testing::AssertionResult LagBecomes(absl::FunctionRef<bool(double)> condition) {
    const health::SignalQuery query = QueryFor("standby_lag_seconds");
    EXPECT_TRUE(of_primary().Poll({&query, 1}).ok());
    return Becomes(of_standby(), query.signal, [&](double value) {
      if (condition(value)) return true;
      EXPECT_TRUE(of_primary().Poll({&query, 1}).ok());
      return false;
    });
  }

  static void Write() {
    RunSql(
        "CREATE TABLE w AS SELECT repeat('x', 1000) AS t FROM generate_series(1, 1000);"
        "DROP TABLE w");
  }

  PostgresProbe& of_primary() { return *of_primary_; }
  PostgresProbe& of_standby() { return *of_standby_; }

 private:
  std::optional<PostgresProbe> of_primary_, of_standby_;
};

TEST_F(Standby, ThatHasCaughtUpHasNoLag) {
  Write();
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_bytes", IsZero));
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", IsZero));
  EXPECT_TRUE(LagBecomes(IsZero));
}

TEST_F(Standby, WhoseReplayIsPausedLagsMoreAndMore) {
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", IsZero));
  EXPECT_TRUE(LagBecomes(IsZero));
  ASSERT_TRUE(standby().PauseReplay().ok());
  Write();
  const auto grows = [](double value) { return value > 0.5; };
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_bytes", [](double v) { return v > 1e5; }));
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", grows));
  EXPECT_TRUE(LagBecomes(grows));
  ASSERT_TRUE(standby().ResumeReplay().ok());
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_bytes", IsZero));
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", IsZero));
  EXPECT_TRUE(LagBecomes(IsZero));
}

TEST_F(Standby, ThatIsPausedUnderHardlyAnyLoadLagsInSeconds) {
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", IsZero));
  ASSERT_TRUE(standby().PauseReplay().ok());
  RunSql("SELECT pg_current_xact_id()");  // some hundred bytes
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", [](double v) { return v > 1; }));
  EXPECT_LT(ValueOf(of_primary(), "replication_lag_bytes"), 1e5);
  ASSERT_TRUE(standby().ResumeReplay().ok());
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", IsZero));
}

TEST_F(Standby, ThatStoppedIsAnErrorNotZeroUntilItStreamsAgain) {
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_bytes", IsZero));
  ASSERT_TRUE(standby().Stop().ok());
  Write();
  for (const char* signal : {"replication_lag_seconds", "replication_lag_bytes"}) {
    std::optional<health::Reading> reading = ReadOne(of_primary(), QueryFor(signal));
    ASSERT_TRUE(reading.has_value());
    EXPECT_EQ(reading->instance, std::string(signal) + " on standby-1");
    EXPECT_FALSE(reading->value.has_value());
    EXPECT_THAT(reading->error, HasSubstr("standby 'standby-1' is not streaming"));
    EXPECT_TRUE(reading->is_absent);
  }
  EXPECT_TRUE(absl::IsUnavailable(of_standby().Poll({}).status()));
  ASSERT_TRUE(standby().Start().ok());
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_bytes", IsZero));
  EXPECT_TRUE(LagBecomes(IsZero));
}

TEST_F(Standby, ThatIsExpectedButUnknownIsAnError) {
  health::SignalQuery query = QueryFor("replication_lag_seconds");
  query.of.push_back(query.of[0]);
  query.of[1].name = "east";
  query.of[1].application_name = "ghost";
  absl::StatusOr<std::vector<health::Reading>> readings = of_primary().Poll({&query, 1});
  ASSERT_TRUE(readings.ok()) << readings.status();
  ASSERT_EQ(readings->size(), 2u);
  EXPECT_TRUE(readings->at(0).value.has_value()) << readings->at(0).error;
  EXPECT_EQ(readings->at(1).instance, "replication_lag_seconds on east");
  EXPECT_THAT(readings->at(1).error, HasSubstr("standby 'east' is not streaming"));
}

// As on a service that does not let it be asked: that is no standby that is known to be absent.
TEST_F(Standby, OfWhichTheServerDoesNotTellIsUnknownAndNotAbsent) {
  RunSql("REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM PUBLIC");
  const std::optional<health::Reading> reading =
      ReadOne(of_primary(), QueryFor("replication_lag_seconds"));
  RunSql("GRANT EXECUTE ON FUNCTION pg_current_wal_lsn() TO PUBLIC");
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->instance, "replication_lag_seconds on standby-1");
  EXPECT_THAT(reading->error, HasSubstr("permission denied"));
  EXPECT_FALSE(reading->value.has_value());
  EXPECT_FALSE(reading->is_absent);
}

// A standby refuses SERIALIZABLE.
TEST_F(Standby, IsPolledWhateverIsolationItsRoleHas) {
  RunSql("ALTER ROLE headgate SET default_transaction_isolation = 'serializable'");
  ASSERT_TRUE(cluster().WaitForStandbys().ok());
  PostgresProbe probe = MakeProbe(On(standby(), ServerRole::kStandby));
  EXPECT_GE(ValueOf(probe, "active_backends"), 0);
  EXPECT_EQ(ValueOf(probe, CustomQuery("SELECT (current_setting('transaction_isolation') ="
                                       " 'read committed')::int")),
            1);
  RunSql("ALTER ROLE headgate RESET default_transaction_isolation");
}

TEST_F(Standby, ThatHangsIsSeenByBothProbesAndRecovers) {
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", IsZero));
  PostgresProbeOptions options = On(standby(), ServerRole::kStandby);
  options.timeout = absl::Milliseconds(300);
  PostgresProbe impatient = MakeProbe(options);
  EXPECT_TRUE(WaitUntil([&] { return impatient.Poll({}).ok(); }));
  standby().Suspend();
  Write();
  EXPECT_TRUE(absl::IsDeadlineExceeded(impatient.Poll({}).status()));
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", [](double v) { return v > 0.5; }));
  standby().Resume();
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_seconds", IsZero));
  EXPECT_TRUE(WaitUntil([&] { return impatient.Poll({}).ok(); }));
}

TEST_F(Standby, LagIsNotThatOfAQuietNight) {
  // The last transaction that was replayed is old, and the next one has just been received.
  EXPECT_TRUE(LagBecomes(IsZero));
  EXPECT_TRUE(Becomes(of_primary(), "replication_lag_bytes", IsZero));
  const double quiet_since = SecondsNow();
  ASSERT_TRUE(WaitUntil([&] { return SecondsNow() - quiet_since > 2; }));
  EXPECT_TRUE(LagBecomes(IsZero));
  const double caught_up_at = SecondsNow();
  ASSERT_TRUE(standby().PauseReplay().ok());
  RunSql("SELECT pg_current_xact_id()");
  double lag = 0;
  EXPECT_TRUE(LagBecomes([&](double v) { return (lag = v) > 0; }));
  EXPECT_LE(lag, SecondsNow() - caught_up_at + 0.5);
  ASSERT_TRUE(standby().ResumeReplay().ok());
}

TEST_F(Standby, LagIsNotKnownWhereThePrimaryCannotBeAsked) {
  EXPECT_TRUE(LagBecomes(IsZero));
  position_->Lose(absl::UnavailableError("connection refused"));
  const auto reading = ReadOne(of_standby(), QueryFor("standby_lag_seconds"));
  ASSERT_TRUE(reading.has_value());
  EXPECT_FALSE(reading->value.has_value());
  EXPECT_EQ(reading->error, "the primary's position is not known: connection refused");
  EXPECT_TRUE(LagBecomes(IsZero));
}

}  // namespace
}  // namespace headgate::postgres
