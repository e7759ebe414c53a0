// What goes wrong with a server, or on the way to it: each call ends in time with the truth, and
// the probe recovers by itself.

#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/observe/postgres/probe_fixture.h"
#include "tests/testing/silent_server.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

class Fault : public ProbeTest {
 protected:
  static constexpr absl::Duration kTimeout = absl::Milliseconds(400);
  // A busy machine may take as long beyond it, which is well before the 30 s of other probes.
  static constexpr absl::Duration kLate = absl::Seconds(20);

  // For servers that hang: on a busy machine others may not answer it, and are asked again.
  PostgresProbe ImpatientProbe(const std::string& dsn) {
    PostgresProbeOptions options = On(primary());
    options.timeout = kTimeout;
    if (!dsn.empty()) options.dsn = [dsn] { return dsn; };
    return MakeProbe(options);
  }

  // The status of a poll, which has to end in time.
  static absl::Status PollInTime(PostgresProbe& probe) {
    const double began = SecondsNow();
    const absl::Status status = probe.Poll({}).status();
    EXPECT_LT(SecondsNow() - began, absl::ToDoubleSeconds(kTimeout + kLate));
    return status;
  }

  static bool Recovers(PostgresProbe& probe) {
    return WaitUntil([&] { return probe.Poll({}).ok(); });
  }

  static absl::Status StatusFor(const std::string& dsn, SystemClock& clock) {
    PostgresProbeOptions options = On(primary());
    options.dsn = [dsn] { return dsn; };
    return PostgresProbe(options, clock).Poll({}).status();
  }
};

TEST_F(Fault, AServerThatIsDownAtStartIsUnavailableUntilItStarts) {
  ASSERT_TRUE(primary().Stop().ok());
  PostgresProbe probe = MakeProbe(On(primary()));
  const absl::Status status = PollInTime(probe);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("Connection refused"));
  ASSERT_TRUE(primary().Start().ok());
  EXPECT_TRUE(Recovers(probe));
}

TEST_F(Fault, AServerThatIsKilledIsUnavailableUntilItRestarts) {
  PostgresProbe probe = MakeProbe(On(primary()));
  ASSERT_TRUE(Recovers(probe));
  primary().Kill();
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = PollInTime(probe);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  ASSERT_TRUE(primary().Start().ok());
  EXPECT_TRUE(Recovers(probe));
}

TEST_F(Fault, ARestartBetweenPollsStartsRatesOver) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const health::SignalQuery query = QueryFor("wal_bytes_per_second");
  ASSERT_TRUE(probe.Poll({&query, 1}).ok());
  EXPECT_GE(ValueOf(probe, query), 0);
  ASSERT_TRUE(primary().Stop(PostgresServer::StopMode::kImmediate).ok());
  ASSERT_TRUE(primary().Start().ok());
  absl::StatusOr<std::vector<health::Reading>> readings;
  ASSERT_TRUE(WaitUntil([&] { return (readings = probe.Poll({&query, 1})).ok(); }));
  EXPECT_TRUE(readings->empty());
  EXPECT_GE(ValueOf(probe, query), 0);
}

TEST_F(Fault, AnAdministratorsDisconnectIsNamed) {
  PostgresProbe probe = MakeProbe(On(primary()));
  ASSERT_TRUE(Recovers(probe));
  RunSql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'headgate'");
  const absl::Status status = probe.Poll({}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("administrator"));
  EXPECT_TRUE(Recovers(probe));
}

TEST_F(Fault, AHungServerIsGivenUpInTimeAndItsSessionFreed) {
  PostgresProbe probe = ImpatientProbe("");
  ASSERT_TRUE(Recovers(probe));
  primary().Suspend();
  for (int i = 0; i < 2; ++i) {  // with a session, and then while connecting
    const absl::Status status = PollInTime(probe);
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  }
  primary().Resume();
  EXPECT_TRUE(Recovers(probe));
  EXPECT_TRUE(WaitUntil([&] {
    return RunSql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'headgate'")[0][0] == "1";
  }));
}

TEST_F(Fault, AHungServerIsGivenUpInTimeByWorkSamples) {
  PostgresProbe probe = ImpatientProbe("");
  ASSERT_TRUE(WaitUntil([&] { return probe.SampleWork(health::StatementsWish::kNow).ok(); }));
  primary().Suspend();
  const double began = SecondsNow();
  EXPECT_TRUE(absl::IsDeadlineExceeded(probe.SampleWork(health::StatementsWish::kNow).status()));
  EXPECT_LT(SecondsNow() - began, absl::ToDoubleSeconds(kTimeout + kLate));
  primary().Resume();
  EXPECT_TRUE(WaitUntil([&] { return probe.SampleWork(health::StatementsWish::kNow).ok(); }));
}

TEST_F(Fault, CancelEndsACallThatHangsAndAllLaterOnes) {
  PostgresProbe probe = MakeProbe(On(primary()));
  ASSERT_TRUE(Recovers(probe));
  primary().Suspend();
  absl::Status status;
  const double began = SecondsNow();
  std::thread caller([&] { status = probe.Poll({}).status(); });
  probe.Cancel();
  caller.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  primary().Resume();
  EXPECT_TRUE(absl::IsCancelled(probe.Poll({}).status()));
  EXPECT_TRUE(absl::IsCancelled(probe.SampleWork(health::StatementsWish::kNow).status()));
  EXPECT_LT(SecondsNow() - began, absl::ToDoubleSeconds(kLate));  // where the timeout is 30 s
}

TEST_F(Fault, ASilentNetworkIsGivenUpInTime) {
  SilentServer silent;
  PostgresProbe probe =
      ImpatientProbe(absl::StrCat("host=127.0.0.1 port=", silent.port(), " user=headgate"));
  const absl::Status status = PollInTime(probe);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("connecting to 127.0.0.1:"));
}

TEST_F(Fault, ASilentHostLeavesTimeForTheNextOne) {
  SilentServer silent;
  PostgresProbeOptions options = On(primary());
  options.timeout = absl::Seconds(4);  // half of which passes
  options.dsn = [&] {
    return absl::StrCat("postgresql://headgate:", kPassword, "@127.0.0.1:", silent.port(),
                        ",localhost:", primary().port(), "/", kDatabase);
  };
  PostgresProbe probe = MakeProbe(options);
  // Again where a busy machine takes the other half.
  EXPECT_TRUE(Recovers(probe)) << probe.Poll({}).status();
}

TEST_F(Fault, AServerOutOfConnectionsSaysSoUntilOneIsFree) {
  std::vector<SqlSession> sessions;
  while (true) {
    absl::StatusOr<SqlSession> session = SqlSession::Open(primary().SocketDsn("app", kDatabase));
    if (!session.ok()) break;
    sessions.push_back(*std::move(session));
    ASSERT_LT(sessions.size(), 100u);
  }
  PostgresProbe probe = MakeProbe(On(primary()));
  const absl::Status status = probe.Poll({}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("connection slots"));
  sessions.clear();
  EXPECT_TRUE(Recovers(probe));
}

TEST_F(Fault, AWrongOrMissingPasswordIsPermissionDenied) {
  absl::Status status = StatusFor(primary().Dsn("headgate", kDatabase, "wrong"), clock_);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("password authentication failed for user \"headgate\""));
  EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("wrong")));
  status = StatusFor(primary().Dsn("headgate", kDatabase), clock_);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no password supplied"));
}

// libpq writes a line of its own at every try, and none into its error.
TEST_F(Fault, AFileOfPasswordsThatLibpqPassesOverIsTheErrorsReason) {
  const std::string file = testing::TempDir() + "headgate_passfile";
  std::ofstream(file) << "*:*:*:*:" << kPassword << "\n";
  const std::string dsn = absl::StrCat(primary().Dsn("headgate", kDatabase), " passfile=", file);
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  testing::internal::CaptureStderr();
  const absl::Status status = StatusFor(dsn, clock_);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(absl::StrCat("the file of passwords ", file, " is not read: its mode is 0640")));
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_TRUE(StatusFor(dsn, clock_).ok()) << StatusFor(dsn, clock_);
  std::remove(file.c_str());
}

TEST_F(Fault, AChangedPasswordTakesEffectAtTheNextConnect) {
  std::string password = "wrong";
  PostgresProbeOptions options = On(primary());
  options.dsn = [&] { return primary().Dsn("headgate", kDatabase, password); };
  PostgresProbe probe = MakeProbe(options);
  EXPECT_TRUE(absl::IsPermissionDenied(probe.Poll({}).status()));
  password = kPassword;
  const absl::Status status = probe.Poll({}).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(Fault, ASecretThatCannotBeReadIsTheCallsError) {
  PostgresProbeOptions options = On(primary());
  options.dsn = [] { return absl::NotFoundError("no file dsn"); };
  PostgresProbe probe = MakeProbe(options);
  EXPECT_EQ(probe.Poll({}).status(), absl::NotFoundError("no file dsn"));
}

TEST_F(Fault, AnUnknownRoleOrDatabaseIsNamed) {
  absl::Status status = StatusFor(primary().Dsn("nobody", kDatabase, kPassword), clock_);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  status = StatusFor(primary().Dsn("headgate", "nowhere", kPassword), clock_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("database \"nowhere\" does not exist"));
}

TEST_F(Fault, ARoleWithoutPgMonitorIsAnErrorNotAZero) {
  const absl::Status status = StatusFor(primary().Dsn("app", kDatabase, kPassword), clock_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("GRANT pg_monitor TO app"));
}

TEST_F(Fault, ARoleThatLosesOrDoesNotInheritPgMonitorIsAnError) {
  RunSql("CREATE ROLE watcher LOGIN PASSWORD 'right'; GRANT pg_monitor TO watcher");
  PostgresProbeOptions options = On(primary());
  options.dsn = [] { return primary().Dsn("watcher", kDatabase, kPassword); };
  PostgresProbe probe = MakeProbe(options);
  EXPECT_TRUE(probe.Poll({}).ok());
  const bool grant_inherits = ServerVersion() >= 160000;
  RunSql(grant_inherits ? "GRANT pg_monitor TO watcher WITH INHERIT FALSE"
                        : "ALTER ROLE watcher NOINHERIT");
  const absl::Status refused = probe.Poll({}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  // What the error says is what helps, where a grant can.
  const std::string message(refused.message());
  RunSql(grant_inherits ? message.substr(message.find("GRANT ")) : "ALTER ROLE watcher INHERIT");
  EXPECT_TRUE(probe.Poll({}).ok());
  RunSql("REVOKE pg_monitor FROM watcher");
  EXPECT_TRUE(absl::IsFailedPrecondition(probe.SampleWork(health::StatementsWish::kNow).status()));
  RunSql("DROP ROLE watcher");
}

TEST_F(Fault, AStandbyAsPrimaryIsRefusedAndTheOtherWayRound) {
  PostgresProbe as_primary = MakeProbe(On(standby(), ServerRole::kPrimary));
  absl::Status status = as_primary.Poll({}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a standby"));
  PostgresProbe as_standby = MakeProbe(On(primary(), ServerRole::kStandby));
  status = as_standby.Poll({}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a primary"));
}

TEST_F(Fault, ABadConnectionStringIsNotQuoted) {
  const absl::Status status = StatusFor("host=a password='sesame", clock_);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("sesame")));
}

}  // namespace
}  // namespace headgate::postgres
