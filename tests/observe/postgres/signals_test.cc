// Every signal, against a real server: it reads plausibly, and moves when its cause is produced.

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/observe/health/signal_catalog.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

class Signals : public ProbeTest {};

TEST(SignalCatalog, NamesWhatThereIsAQueryFor) {
  std::set<std::string_view> catalog, sources;
  for (const health::SignalInfo& info : health::AllSignals()) catalog.insert(info.name);
  for (const SignalSource& source : AllSources()) sources.insert(source.signal);
  EXPECT_EQ(catalog, sources);
}

TEST_F(Signals, AllReadOnTheSecondPollOfAQuietCluster) {
  PostgresProbe of_primary = MakeProbe(On(primary()));
  PostgresProbe of_standby = MakeProbe(On(standby(), ServerRole::kStandby));
  ASSERT_TRUE(cluster().WaitForStandbys().ok());
  for (const health::SignalInfo& info : health::AllSignals()) {
    PostgresProbe& probe = info.scope == health::Scope::kStandby ? of_standby : of_primary;
    const health::SignalQuery query = QueryFor(info.name);
    ASSERT_TRUE(of_primary.Poll({&query, 1}).ok());
    ASSERT_TRUE(probe.Poll({&query, 1}).ok());
    std::optional<health::Reading> reading = ReadOne(probe, query);
    ASSERT_TRUE(reading.has_value());
    EXPECT_TRUE(reading->value.has_value()) << info.name << ": " << reading->error;
    EXPECT_EQ(reading->error, "");
    const std::string instance = info.scope == health::Scope::kPrimary
                                     ? std::string(info.name)
                                     : health::InstanceName(info.name, "standby-1");
    EXPECT_EQ(reading->instance, instance);
    EXPECT_GE(reading->value.value_or(-1), 0) << info.name;
  }
}

TEST_F(Signals, ComeTogetherInOnePoll) {
  PostgresProbe probe = MakeProbe(On(primary()));
  std::vector<health::SignalQuery> queries;
  for (const health::SignalInfo& info : health::AllSignals()) {
    if (info.scope != health::Scope::kStandby) queries.push_back(QueryFor(info.name));
  }
  ASSERT_TRUE(probe.Poll(queries).ok());
  absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll(queries);
  ASSERT_TRUE(readings.ok()) << readings.status();
  ASSERT_EQ(readings->size(), queries.size());
  for (const health::Reading& reading : *readings) {
    EXPECT_TRUE(reading.value.has_value()) << reading.instance << ": " << reading.error;
  }
}

TEST_F(Signals, RatesHaveNoReadingAtTheFirstPoll) {
  PostgresProbe probe = MakeProbe(On(primary()));
  std::vector<health::SignalQuery> queries;
  for (const SignalSource& source : AllSources()) {
    if (source.window > absl::ZeroDuration()) queries.push_back(QueryFor(source.signal));
  }
  ASSERT_EQ(queries.size(), 6u);
  absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll(queries);
  ASSERT_TRUE(readings.ok()) << readings.status();
  EXPECT_TRUE(readings->empty());
}

TEST_F(Signals, ActiveBackendsAreSessionsThatRunAStatement) {
  PostgresProbe probe = MakeProbe(On(primary()));
  EXPECT_TRUE(Becomes(probe, "active_backends", [](double value) { return value == 0; }));
  SqlSession idle = Open(), one = Open(), two = Open();
  ASSERT_TRUE(one.Start("SELECT pg_sleep(60)").ok());
  ASSERT_TRUE(two.Start("SELECT pg_sleep(60)").ok());
  EXPECT_TRUE(Becomes(probe, "active_backends", [](double value) { return value == 2; }));
  Run(idle, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%sleep(60)'");
  EXPECT_TRUE(Becomes(probe, "active_backends", [](double value) { return value == 0; }));
}

TEST_F(Signals, ConnectionFractionIsOfWhatIsNotReserved) {
  PostgresProbe probe = MakeProbe(On(primary()));
  // 30 connections, 3 of them reserved, and the probe's own.
  EXPECT_TRUE(Becomes(probe, "connection_fraction",
                      [](double value) { return std::abs(value - 1.0 / 27) < 1e-9; }));
  SqlSession a = Open(), b = Open();
  EXPECT_NEAR(ValueOf(probe, "connection_fraction"), 3.0 / 27, 1e-9);
}

TEST_F(Signals, LockWaitersAreCountedAndTimed) {
  PostgresProbe probe = MakeProbe(On(primary()));
  SqlSession holder = Open(), waiter = Open();
  Run(holder, "CREATE TABLE locked (i int)");
  Run(holder, "BEGIN; LOCK TABLE locked");
  EXPECT_EQ(ValueOf(probe, "lock_waiters"), 0);
  EXPECT_EQ(ValueOf(probe, "lock_wait_max_seconds"), 0);
  ASSERT_TRUE(waiter.Start("SELECT * FROM locked").ok());
  EXPECT_TRUE(Becomes(probe, "lock_waiters", [](double value) { return value == 1; }));
  EXPECT_TRUE(Becomes(probe, "lock_wait_max_seconds", [](double value) { return value > 0.2; }));
  Run(holder, "COMMIT; DROP TABLE locked");
  EXPECT_TRUE(Becomes(probe, "lock_waiters", [](double value) { return value == 0; }));
  EXPECT_EQ(ValueOf(probe, "lock_wait_max_seconds"), 0);
}

TEST_F(Signals, OldestTransactionIncludesOneThatIsIdle) {
  PostgresProbe probe = MakeProbe(On(primary()));
  SqlSession session = Open();
  Run(session, "BEGIN; SELECT 1");
  EXPECT_TRUE(
      Becomes(probe, "oldest_transaction_seconds", [](double value) { return value > 0.3; }));
  Run(session, "COMMIT");
  EXPECT_TRUE(
      Becomes(probe, "oldest_transaction_seconds", [](double value) { return value < .3; }));
}

void BurnTransactions(SqlSession& session, int count) {
  ASSERT_TRUE(session
                  .Run("DO $$ BEGIN FOR i IN 1.." + std::to_string(count) +
                       " LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
                  .ok());
}

TEST_F(Signals, XminAgeIsThatOfAnOpenWriter) {
  PostgresProbe probe = MakeProbe(On(primary()));
  SqlSession writer = Open(), other = Open();
  Run(writer, "BEGIN; SELECT pg_current_xact_id()");
  BurnTransactions(other, 200);
  EXPECT_GE(ValueOf(probe, "xmin_age"), 200);
  Run(writer, "COMMIT");
  EXPECT_TRUE(Becomes(probe, "xmin_age", [](double value) { return value < 200; }));
}

TEST_F(Signals, XminAgeIsThatOfAPreparedTransaction) {
  PostgresProbe probe = MakeProbe(On(primary()));
  SqlSession session = Open();
  Run(session, "BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'forgotten'");
  BurnTransactions(session, 100);
  EXPECT_GE(ValueOf(probe, "xmin_age"), 100);
  Run(session, "COMMIT PREPARED 'forgotten'");
  EXPECT_TRUE(Becomes(probe, "xmin_age", [](double value) { return value < 100; }));
}

TEST_F(Signals, WraparoundFractionGrowsWithTransactions) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const double before = ValueOf(probe, "wraparound_fraction");
  SqlSession session = Open();
  BurnTransactions(session, 1000);  // of autovacuum_freeze_max_age = 100000
  EXPECT_GE(ValueOf(probe, "wraparound_fraction"), before + 0.0099);
}

TEST_F(Signals, WalRateFollowsWhatIsWritten) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const health::SignalQuery query = QueryFor("wal_bytes_per_second");
  const double began = SecondsNow();
  ASSERT_TRUE(probe.Poll({&query, 1}).ok());
  RunSql(
      "CREATE TABLE w AS SELECT repeat('x', 1000) AS t FROM generate_series(1, 10000); DROP TABLE "
      "w");
  // 10 MB were written since then, however long that took.
  const double rate = ValueOf(probe, "wal_bytes_per_second");
  EXPECT_GE(rate * (SecondsNow() - began), 9e6);
}

TEST_F(Signals, RequestedCheckpointsAreAShareOfAll) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const health::SignalQuery query = QueryFor("requested_checkpoint_fraction");
  ASSERT_TRUE(probe.Poll({&query, 1}).ok());
  EXPECT_EQ(ValueOf(probe, query), 0);
  RunSql("CHECKPOINT");
  EXPECT_TRUE(Becomes(probe, query.signal, [](double value) { return value == 0.5; }));
  RunSql("CHECKPOINT");
  EXPECT_TRUE(Becomes(probe, query.signal, [](double value) { return value == 1; }));
}

TEST_F(Signals, IoWaitIsOfSessionsThatReadFromDisk) {
  PostgresProbe probe = MakeProbe(On(primary()));
  // Larger than shared_buffers.
  RunSql("CREATE TABLE large AS SELECT repeat('x', 1000) AS t FROM generate_series(1, 30000)");
  SqlSession reader = Open();
  ASSERT_TRUE(reader
                  .Start("DO $$ BEGIN FOR i IN 1..100000 LOOP"
                         " PERFORM count(*) FROM large; END LOOP; END $$")
                  .ok());
  // One of at least four.
  EXPECT_TRUE(Becomes(probe, "io_wait_fraction", [](double value) { return value == 0.25; }));
  RunSql("SELECT pg_terminate_backend(" + std::to_string(reader.backend_pid()) + ", 5000)");
  EXPECT_TRUE(Becomes(probe, "io_wait_fraction", [](double value) { return value == 0; }));
  RunSql("DROP TABLE large");
}

TEST_F(Signals, DeadlocksAndRollbacksAreCounted) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const std::vector<health::SignalQuery> queries = {QueryFor("deadlocks_per_second"),
                                                    QueryFor("rollbacks_per_second")};
  ASSERT_TRUE(probe.Poll(queries).ok());
  {
    SqlSession a = Open(), b = Open();
    Run(a, "CREATE TABLE one (i int); CREATE TABLE two (i int)");
    Run(a, "BEGIN; LOCK TABLE one");
    Run(b, "BEGIN; LOCK TABLE two");
    ASSERT_TRUE(a.Start("LOCK TABLE two").ok());
    ASSERT_TRUE(b.Start("LOCK TABLE one").ok());
    absl::StatusOr<SqlRows> of_a = a.Finish(), of_b = b.Finish();
    EXPECT_NE(of_a.ok(), of_b.ok());
  }
  EXPECT_TRUE(Becomes(probe, "deadlocks_per_second", [](double value) { return value > 0; }));
  EXPECT_TRUE(Becomes(probe, "rollbacks_per_second", [](double value) { return value > 0; }));
  RunSql("DROP TABLE one, two");
}

TEST_F(Signals, FailuresOfACustomSignalAreNotRollbacks) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const std::vector<health::SignalQuery> queries = {QueryFor("rollbacks_per_second"),
                                                    CustomQuery("SELECT nonsense")};
  ASSERT_TRUE(probe.Poll(queries).ok());
  const double began = SecondsNow();
  double worst = 0;
  // Longer than a session keeps its statistics to itself.
  while (SecondsNow() - began < 2) {
    absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll(queries);
    ASSERT_TRUE(readings.ok()) << readings.status();
    worst = std::max(worst, readings->front().value.value_or(-1));
  }
  EXPECT_LT(worst, 1);
}

TEST_F(Signals, TempBytesCountSpills) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const health::SignalQuery query = QueryFor("temp_bytes_per_second");
  ASSERT_TRUE(probe.Poll({&query, 1}).ok());
  RunSql(
      "SET work_mem = '64kB'; SELECT count(*) FROM (SELECT i FROM generate_series(1, 200000) i "
      "ORDER BY i DESC) s");
  EXPECT_TRUE(Becomes(probe, "temp_bytes_per_second", [](double value) { return value > 1e4; }));
}

TEST_F(Signals, AutovacuumBacklogIsByTheTablesOwnThreshold) {
  PostgresProbe probe = MakeProbe(On(primary()));
  RunSql(
      "CREATE TABLE own (i int) WITH (autovacuum_vacuum_threshold = 20, "
      "autovacuum_vacuum_scale_factor = 0);"
      "CREATE TABLE off (i int) WITH (autovacuum_enabled = off, autovacuum_vacuum_threshold = 1);"
      "INSERT INTO own SELECT generate_series(1, 1000); INSERT INTO off SELECT generate_series(1, "
      "1000)");
  RunSql("DELETE FROM own; DELETE FROM off");
  EXPECT_TRUE(Becomes(probe, "autovacuum_backlog", [](double value) { return value == 50; }));
  RunSql("DROP TABLE own, off");
}

double LoadOfTheMachine() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

TEST_F(Signals, LoadPerCoreIsTheMachines) {
  PostgresProbe probe = MakeProbe(On(primary()));
  double before = 0, value = -1;
  // The kernel may work it out anew in between.
  ASSERT_TRUE(WaitUntil([&] {
    before = LoadOfTheMachine();
    value = ValueOf(probe, "load_per_core");
    return LoadOfTheMachine() == before;
  }));
  EXPECT_NEAR(value, before / static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)), 1e-6);
}

TEST_F(Signals, LoadPerCoreWithoutItsFunctionSaysWhatIsMissing) {
  PostgresProbeOptions options = On(primary());
  options.dsn = [] { return primary().Dsn("headgate", "postgres", kPassword); };
  PostgresProbe probe = MakeProbe(options);
  const std::vector<health::SignalQuery> queries = {QueryFor("load_per_core"),
                                                    QueryFor("active_backends")};
  absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll(queries);
  ASSERT_TRUE(readings.ok()) << readings.status();
  EXPECT_FALSE(readings->at(0).value.has_value());
  EXPECT_THAT(readings->at(0).error, HasSubstr("setup.sql"));
  EXPECT_TRUE(readings->at(1).value.has_value());
}

TEST_F(Signals, AnAbandonedSlotRetainsWal) {
  PostgresProbe probe = MakeProbe(On(primary()));
  EXPECT_EQ(ValueOf(probe, "slot_retained_bytes"), 0);
  RunSql("SELECT pg_create_physical_replication_slot('abandoned', true)");
  RunSql(
      "CREATE TABLE w AS SELECT repeat('x', 1000) AS t FROM generate_series(1, 10000); DROP TABLE "
      "w");
  EXPECT_GT(ValueOf(probe, "slot_retained_bytes"), 9e6);
  RunSql("SELECT pg_drop_replication_slot('abandoned')");
  EXPECT_EQ(ValueOf(probe, "slot_retained_bytes"), 0);
}

TEST_F(Signals, AnUnknownOneIsAnErrorOfItsOwn) {
  PostgresProbe probe = MakeProbe(On(primary()));
  std::optional<health::Reading> reading = ReadOne(probe, QueryFor("mood"));
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->error, "there is no such signal");
}

}  // namespace
}  // namespace headgate::postgres
