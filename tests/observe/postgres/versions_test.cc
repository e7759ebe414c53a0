// Where PostgreSQL's versions differ: what a signal reads in each of them.

#include <signal.h>
#include <sys/types.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

class Versions : public ProbeTest {
 protected:
  // As superuser, who needs no setup.
  PostgresProbe ProbeOf(const PostgresServer& server) {
    PostgresProbeOptions options = On(server);
    options.dsn = [dsn = server.SocketDsn()] { return dsn; };
    return MakeProbe(options);
  }
};

// From PostgreSQL 16 on connections can be reserved for the roles that pg_use_reserved_connections
// has.
TEST_F(Versions, ConnectionsThatAreReservedForRolesAreReserved) {
  auto cluster = PostgresCluster::Start({.settings = {{"max_connections", "30"}}});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  PostgresServer& server = (*cluster)->primary();
  double others = 27;
  if (ServerVersion() >= 160000) {
    others = 25;
    ASSERT_TRUE(server.Configure({{"reserved_connections", "2"}}).ok());
    ASSERT_TRUE(server.Stop().ok());
    ASSERT_TRUE(server.Start().ok());
  }
  PostgresProbe probe = ProbeOf(server);
  EXPECT_TRUE(Becomes(probe, "connection_fraction",
                      [&](double value) { return std::abs(value - 1 / others) < 1e-9; }));
}

// From PostgreSQL 17 on, which spells one of them differently, the server lists all that there are.
TEST_F(Versions, WaitsForIoAreSpeltAsTheServerSpellsThem) {
  const int version = ServerVersion();
  const std::string sql(SqlOf(Query::kActivity, version));
  const size_t begin = sql.find('(', sql.find("wait_event IN"));
  const std::string names = sql.substr(begin, sql.find(')', begin) + 1 - begin);
  ASSERT_EQ(RunSql("SELECT to_regclass('pg_wait_events') IS NOT NULL")[0][0],
            version >= 170000 ? "t" : "f");
  if (version < 170000) return;
  EXPECT_THAT(RunSql("SELECT name FROM pg_wait_events WHERE type <> 'IO' AND name NOT IN " + names +
                     " AND lower(name) IN " + absl::AsciiStrToLower(names)),
              testing::IsEmpty());
  EXPECT_EQ(RunSql("SELECT count(*) FROM pg_wait_events WHERE name IN " + names)[0][0],
            version >= 180000 ? "4" : "3");
}

// A maximum is known from PostgreSQL 18 on; elsewhere the same threshold comes about otherwise.
TEST_F(Versions, AutovacuumBacklogIsByTheTablesOwnMaximum) {
  PostgresProbe probe = MakeProbe(On(primary()));
  const std::string twenty =
      ServerVersion() >= 180000
          ? "autovacuum_vacuum_max_threshold = 20"
          : "autovacuum_vacuum_threshold = 20, autovacuum_vacuum_scale_factor = 0";
  RunSql("CREATE TABLE capped (i int) WITH (" + twenty +
         "); INSERT INTO capped SELECT generate_series(1, 1000)");
  RunSql("DELETE FROM capped");
  EXPECT_TRUE(Becomes(probe, "autovacuum_backlog", [](double value) { return value == 50; }));
  RunSql("DROP TABLE capped");
}

// Up to PostgreSQL 16 the checkpointer counts them, and from 17 on each backend by itself.
TEST_F(Versions, FsyncsOfBackendsAreCountedWhereTheCheckpointerDoesNotKeepUp) {
  // The checkpointer's queue has a place for each buffer.
  auto cluster = PostgresCluster::Start({.settings = {{"shared_buffers", "1MB"}}});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const PostgresServer& server = (*cluster)->primary();
  PostgresProbe probe = ProbeOf(server);
  const health::SignalQuery query = QueryFor("backend_fsyncs_per_second");
  ASSERT_TRUE(probe.Poll({&query, 1}).ok());
  EXPECT_EQ(ValueOf(probe, query), 0);
  const absl::StatusOr<SqlRows> rows =
      server.RunSql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
  ASSERT_TRUE(rows.ok()) << rows.status();
  pid_t checkpointer = 0;
  ASSERT_TRUE(absl::SimpleAtoi((*rows)[0][0], &checkpointer));
  ASSERT_EQ(kill(checkpointer, SIGSTOP), 0);
  const absl::StatusOr<SqlRows> made = server.RunSql(
      "DO $$ BEGIN FOR i IN 1..300 LOOP"
      " EXECUTE format('CREATE TABLE file_%s AS SELECT 1', i); COMMIT; END LOOP; END $$");
  kill(checkpointer, SIGCONT);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(Becomes(probe, query.signal, [](double value) { return value > 0; }));
}

// From PostgreSQL 17 on extremes can be reset alone, which takes nothing from what is counted.
TEST_F(Versions, ResetOfExtremesIsNoOtherGenerationOfStatements) {
  PostgresProbeOptions options = On(primary());
  options.batch_work.roles = {"etl"};
  PostgresProbe probe = MakeProbe(options);
  const auto generation = [&] {
    std::optional<health::WorkCounters::Statements> statements;
    EXPECT_TRUE(WaitUntil([&] {
      const absl::StatusOr<health::WorkCounters> work =
          probe.SampleWork(health::StatementsWish::kNow);
      if (work.ok()) statements = work->statements;
      return statements.has_value();
    }));
    return statements.has_value() ? statements->generation : 0;
  };
  const int64_t before = generation();
  RunSql(ServerVersion() >= 170000 ? "SELECT pg_stat_statements_reset(minmax_only => true)"
                                   : "SELECT 1");
  EXPECT_EQ(generation(), before);
  RunSql("SELECT pg_stat_statements_reset()");
  EXPECT_NE(generation(), before);
}

}  // namespace
}  // namespace headgate::postgres
