// What a role's own settings must not change: what names mean, how long a session lives, and what
// is read.

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/observe/postgres/log_store.h"
#include "tests/observe/postgres/probe_fixture.h"
#include "tests/testing/log_store_contract.h"

namespace headgate::postgres {
namespace {

class RoleSettings : public ProbeTest {
 protected:
  // For the test's role, while this object lives.
  class Setting {
   public:
    Setting(const std::string& role, const std::string& name, const std::string& value)
        : reset_("ALTER ROLE " + role + " RESET " + name) {
      RunSql("ALTER ROLE " + role + " SET " + name + " = " + value);
    }
    ~Setting() { RunSql(reset_); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

   private:
    const std::string reset_;
  };
};

// Views, functions and operators under PostgreSQL's names, each of which gives itself away.
constexpr char kShadows[] = R"sql(
CREATE SCHEMA shadow; GRANT USAGE ON SCHEMA shadow TO PUBLIC;
CREATE VIEW shadow.pg_stat_activity AS SELECT 1 AS pid, 'client backend'::text AS backend_type,
  'active'::text AS state, 'Lock'::text AS wait_event_type, ''::text AS wait_event,
  now() - interval '1 day' AS xact_start, 'app'::name AS usename, ''::text AS application_name,
  '1'::xid AS backend_xid, '1'::xid AS backend_xmin FROM generate_series(1, 1000);
CREATE VIEW shadow.pg_stat_replication AS SELECT 'standby-1'::text AS application_name,
  'streaming'::text AS state, '0/0'::pg_lsn AS replay_lsn, interval '1 day' AS replay_lag;
CREATE VIEW shadow.pg_locks AS SELECT now() - interval '1 day' AS waitstart, false AS granted;
CREATE VIEW shadow.pg_stat_database AS SELECT 1 AS deadlocks, 1 AS xact_rollback, 1 AS temp_bytes
  WHERE false;
CREATE FUNCTION shadow.pg_backend_pid() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION shadow.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION shadow.pg_has_role(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION shadow.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT '' $$;
CREATE FUNCTION shadow.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
  $$ SELECT pg_catalog.now() + interval '1 day' $$;
CREATE FUNCTION shadow.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR shadow.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shadow.never);
GRANT SELECT ON ALL TABLES IN SCHEMA shadow TO PUBLIC)sql";

class Shadowed : public RoleSettings {
 protected:
  void SetUp() override {
    RoleSettings::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    RunSql(std::string("DROP SCHEMA IF EXISTS shadow CASCADE; ") + kShadows);
  }
};

TEST_F(Shadowed, SignalsAndSamplesAreOfPostgresOwnViews) {
  const Setting setting("headgate", "search_path", "shadow, pg_catalog, public");
  PostgresProbe probe = MakeProbe(On(primary()));
  EXPECT_TRUE(Becomes(probe, "replication_lag_seconds", [](double v) { return v < 3600; }));
  EXPECT_LT(ValueOf(probe, "active_backends"), 100);
  EXPECT_LT(ValueOf(probe, "lock_waiters"), 100);
  EXPECT_LT(ValueOf(probe, "lock_wait_max_seconds"), 3600);
  EXPECT_LT(ValueOf(probe, "oldest_transaction_seconds"), 3600);
  EXPECT_GT(ValueOf(probe, "load_per_core"), -1);  // where the role's search_path has it
  const auto work = probe.SampleWork(health::StatementsWish::kNow);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_LT(work->foreground_active, 100);
  EXPECT_EQ(probe.Note(), "");
}

TEST_F(Shadowed, ASignalsOwnQueryUsesTheRolesNames) {
  const Setting setting("headgate", "search_path", "shadow, pg_catalog");
  PostgresProbe probe = MakeProbe(On(primary()));
  EXPECT_EQ(ValueOf(probe, CustomQuery("SELECT count(*) FROM pg_stat_activity")), 1000);
}

TEST_F(Shadowed, TheThrottleLogIsWrittenAndRead) {
  const Setting setting("app", "search_path", "shadow, pg_catalog");
  RunSql(
      "DROP SCHEMA IF EXISTS headgate_log CASCADE; GRANT CREATE ON DATABASE shop TO app;"
      "CREATE VIEW shadow.pg_tables AS SELECT ''::name AS schemaname, ''::name AS tablename;"
      "CREATE VIEW shadow.pg_namespace AS SELECT ''::name AS nspname, 1::oid AS oid;"
      "CREATE VIEW shadow.pg_inherits AS SELECT 1::oid AS inhrelid, 1::oid AS inhparent;"
      "GRANT SELECT ON ALL TABLES IN SCHEMA shadow TO PUBLIC");
  PostgresLogStoreOptions options;
  options.dsn = [dsn = primary().Dsn("app", kDatabase, kPassword)] { return dsn; };
  options.timeout = options.scan_timeout = absl::Minutes(1);
  PostgresLogStore store(options, throttle_log::Retention(), clock_);
  for (int batch = 1; batch <= 2; ++batch) {
    const absl::Status status =
        store.Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 2)}, batch);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(store.Maintain(absl::FromUnixSeconds(kLogBegin)).ok());
  EXPECT_EQ(ChecksIn(store), 4);
}

TEST_F(RoleSettings, ASessionThatIdledForTooLongIsOpenedAnewInTheSameCall) {
  const Setting setting("headgate", "idle_session_timeout", "'300ms'");
  PostgresProbe probe = MakeProbe(On(primary()));
  const auto gone = [] {
    return RunSql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'headgate'")[0][0] == "0";
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(ValueOf(probe, "active_backends"), 0);
    ASSERT_TRUE(WaitUntil(gone));
    const absl::Status sampled = probe.SampleWork(health::StatementsWish::kNow).status();
    EXPECT_TRUE(sampled.ok()) << sampled;
    ASSERT_TRUE(WaitUntil(gone));
  }
}

TEST_F(RoleSettings, ReadOnlyAndLimitsHoldWhateverTheRoleHas) {
  const Setting writes("headgate", "default_transaction_read_only", "off");
  const Setting patience("headgate", "statement_timeout", "'1h'");
  PostgresProbe probe = MakeProbe(On(primary()));
  EXPECT_EQ(ValueOf(probe, CustomQuery("SELECT (current_setting('transaction_read_only') = 'on'"
                                       " AND current_setting('statement_timeout') = '15s')::int")),
            1);
}

}  // namespace
}  // namespace headgate::postgres
