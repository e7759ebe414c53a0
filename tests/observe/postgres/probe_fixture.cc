#include "tests/observe/postgres/probe_fixture.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::postgres {
namespace {

// Started by the first test that needs it, ended after the last one.
struct SharedCluster {
  absl::Status status = absl::UnknownError("not started");
  std::unique_ptr<PostgresCluster> cluster;
};

SharedCluster& Shared() {
  static SharedCluster shared;
  return shared;
}

class EndCluster : public testing::Environment {
 public:
  void TearDown() override { Shared() = {}; }
};

const testing::Environment* const kEndCluster = testing::AddGlobalTestEnvironment(new EndCluster);

void StartShared() {
  SharedCluster& shared = Shared();
  if (!absl::IsUnknown(shared.status)) return;
  absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster =
      PostgresCluster::Start(ClusterOptions());
  shared.status = cluster.status();
  if (!cluster.ok()) return;
  shared.cluster = *std::move(cluster);
  shared.status = SetUpCluster(*shared.cluster);
}

}  // namespace

PostgresOptions ClusterOptions() {
  return {.standbys = 1,
          .settings = {{"shared_preload_libraries", "pg_stat_statements"},
                       {"shared_buffers", "16MB"},
                       {"max_connections", "30"},
                       {"max_prepared_transactions", "5"},
                       {"autovacuum_naptime", "1h"},
                       {"autovacuum_freeze_max_age", "100000"},
                       {"deadlock_timeout", "50ms"}},
          .password = kPassword};
}

absl::Status SetUpCluster(PostgresCluster& cluster) {
  const PostgresServer& primary = cluster.primary();
  absl::StatusOr<SqlRows> made = primary.RunSql(absl::StrCat("CREATE DATABASE ", kDatabase));
  if (!made.ok()) return made.status();
  // A copy, since the servers' account may not see the source tree.
  const std::string script = cluster.folder() + "/setup.sql";
  std::ifstream source(HEADGATE_SETUP_SQL);
  std::ofstream(script) << source.rdbuf();
  absl::StatusOr<Account> account = PostgresAccount();
  if (!account.ok()) return account.status();
  absl::StatusOr<std::string> psql = FindPostgresClient(cluster.bin(), "psql");
  if (!psql.ok()) return psql.status();
  absl::Status status =
      RunProgram({*psql, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--variable=role=headgate",
                  "--file=" + script, "--dbname=" + primary.SocketDsn("postgres", kDatabase)},
                 *account, cluster.folder() + "/setup.log", absl::Seconds(30));
  if (!status.ok()) return status;
  const std::string password = absl::StrCat(" PASSWORD '", kPassword, "'");
  made = primary.RunSql(absl::StrCat("ALTER ROLE headgate", password, "; CREATE ROLE app LOGIN",
                                     password, "; CREATE ROLE etl LOGIN", password,
                                     "; GRANT ALL ON SCHEMA public TO app, etl;"
                                     " CREATE EXTENSION pg_stat_statements"),
                        kDatabase);
  return made.ok() ? cluster.WaitForStandbys() : made.status();
}

health::SignalQuery QueryFor(std::string_view signal) {
  health::SignalQuery query{.signal = std::string(signal), .sql = {}, .of = {}};
  if (signal.starts_with("replication_lag")) {
    query.of.resize(1);
    query.of[0].name = "standby-1";
    query.of[0].application_name = "standby-1";
  }
  return query;
}

health::SignalQuery CustomQuery(std::string sql) {
  return {.signal = "custom", .sql = std::move(sql), .of = {}};
}

void ProbeTest::SetUp() {
  if (absl::StatusOr<std::string> bin = PostgresCluster::BinFolder(); !bin.ok()) {
    GTEST_SKIP() << bin.status().message();
  }
  StartShared();
  ASSERT_TRUE(Shared().status.ok()) << Shared().status;
  for (PostgresServer* server : {&primary(), &standby()}) {
    server->Resume();
    const absl::Status started = server->pid() == 0 ? server->Start() : absl::OkStatus();
    ASSERT_TRUE(started.ok()) << started;
  }
}

PostgresCluster& ProbeTest::cluster() { return *Shared().cluster; }

PostgresProbeOptions ProbeTest::On(const PostgresServer& server, ServerRole role) {
  return {.server = server.name(),
          .role = role,
          .dsn = [dsn = server.Dsn("headgate", kDatabase, kPassword)] { return dsn; },
          .timeout = absl::Seconds(30)};
}

std::optional<health::Reading> ProbeTest::ReadOne(PostgresProbe& probe,
                                                  const health::SignalQuery& query) {
  absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll({&query, 1});
  EXPECT_TRUE(readings.ok()) << readings.status();
  if (!readings.ok()) return std::nullopt;
  EXPECT_EQ(readings->size(), 1u) << query.signal;
  if (readings->size() != 1) return std::nullopt;
  return readings->front();
}

double ProbeTest::ValueOf(PostgresProbe& probe, const health::SignalQuery& query) {
  std::optional<health::Reading> reading = ReadOne(probe, query);
  if (!reading.has_value()) return -1;
  EXPECT_TRUE(reading->value.has_value()) << reading->instance << ": " << reading->error;
  return reading->value.value_or(-1);
}

testing::AssertionResult ProbeTest::Becomes(PostgresProbe& probe, std::string_view signal,
                                            absl::FunctionRef<bool(double)> condition) {
  const health::SignalQuery query = QueryFor(signal);
  std::string last = "nothing";
  const auto holds = [&] {
    absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll({&query, 1});
    if (!readings.ok()) last = readings.status().ToString();
    if (!readings.ok() || readings->empty()) return false;
    last = readings->front().error;
    if (!readings->front().value.has_value()) return false;
    last = absl::StrCat(*readings->front().value);
    return condition(*readings->front().value);
  };
  if (WaitUntil(holds)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << signal << " was at last: " << last;
}

SqlSession ProbeTest::Open(const std::string& role, const std::string& more_of_dsn) {
  absl::StatusOr<SqlSession> session =
      SqlSession::Open(absl::StrCat(primary().SocketDsn(role, kDatabase), " ", more_of_dsn));
  if (!session.ok()) ADD_FAILURE() << session.status();
  return *std::move(session);
}

SqlRows ProbeTest::Run(SqlSession& session, const std::string& sql) {
  absl::StatusOr<SqlRows> rows = session.Run(sql);
  EXPECT_TRUE(rows.ok()) << sql << ": " << rows.status();
  return rows.ok() ? *rows : SqlRows();
}

SqlRows ProbeTest::RunSql(const std::string& sql) {
  SqlSession session = Open();
  return Run(session, sql);
}

int ProbeTest::ServerVersion() {
  int version = 0;
  EXPECT_TRUE(absl::SimpleAtoi(RunSql("SHOW server_version_num").at(0).at(0), &version));
  return version;
}

}  // namespace headgate::postgres
