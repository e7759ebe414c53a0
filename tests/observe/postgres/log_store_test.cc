// The throttle log in PostgreSQL: its tables, and what goes wrong with its server.

#include "server/observe/postgres/log_store.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "server/observe/postgres/log_waits.h"
#include "tests/observe/postgres/log_store_fixture.h"
#include "tests/testing/log_store_contract.h"
#include "tests/testing/wait_until.h"

namespace headgate::postgres {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LogStoreTest : public testing::Test {
 protected:
  static PostgresServer& server() { return LogDatabase::server(); }

  absl::Status Append(int64_t checks) {
    const std::vector<Row> rows = {AllowedRow(kLogBegin, "a", checks)};
    return store_->Append(rows, ++batch_);
  }
  absl::Status Repeat(int64_t checks) {
    --batch_;
    return Append(checks);
  }
  bool RepeatsUntilItIsIn(int64_t checks) {
    return WaitUntil([&] { return Repeat(checks).ok(); });
  }
  // For a server that is going to hang. It has a session.
  void BecomeImpatient() {
    store_ = database_.Open({}, LogDatabase::kTimeout);
    batch_ = 1;
    ASSERT_TRUE(WaitUntil([&] { return store_->Append({}, batch_).ok(); }));
  }
  static double Seconds() {
    return static_cast<double>(SystemClock::ReadKernel().monotonic_ns) / 1e9;
  }
  // A few times the timeout, and then some for a busy machine.
  static constexpr double kLongest = 30;

  SystemClock clock_;
  LogDatabase database_;
  std::unique_ptr<PostgresLogStore> store_ = database_.Open({});
  int64_t batch_ = 0;
};

TEST_F(LogStoreTest, TheViewHasNamesAndTimes) {
  Row row = DeniedRow(kLogBegin, "vcopier:etl", 3, "replication_lag_seconds on standby-2", 7.1, 5);
  ASSERT_TRUE(store_->Append(std::vector<Row>{row}, 1).ok());
  EXPECT_THAT(
      database_.RunSql("SELECT at AT TIME ZONE 'UTC', step, identity, target, folded,"
                       " outcome, reason, limit_kind, budget, rule, signal, checks, cost,"
                       " peak, threshold FROM headgate_log.log"),
      ElementsAre(ElementsAre("2026-01-01 00:00:00", "00:00:10", "vcopier:etl", "main", "f",
                              "denied", "health", "health", "", "",
                              "replication_lag_seconds on standby-2", "3", "1.5", "7.1", "5")));
}

// Every reason and limit that there is, in the words of the API.
constexpr std::array kReasonWords = {
    "none",     "exempt",          "deny_rule",  "reject_ratio", "health",
    "max_cost", "max_concurrency", "capacity",   "permits",      "unmatched",
    "line",     "line_full",       "approximate"};
constexpr std::array kLimitWords = {"rule",     "health",          "rate",       "burst",
                                    "max_cost", "max_concurrency", "probe",      "permits",
                                    "line",     "line_full",       "approximate"};

std::vector<Row> RowsOfAllCauses() {
  std::vector<Row> rows;
  for (size_t i = 0; i < kReasonWords.size(); ++i) {
    Row row = AllowedRow(kLogBegin, "a", 1);
    row.key.cause.reason = static_cast<engine::Reason>(i);
    row.key.cause.limit = static_cast<engine::Limit>(i % kLimitWords.size());
    rows.push_back(row);
  }
  return rows;
}

TEST_F(LogStoreTest, TheViewHasAWordForEveryCause) {
  static_assert(kReasonWords.size() == static_cast<size_t>(engine::Reason::kApproximate) + 1);
  static_assert(kLimitWords.size() == static_cast<size_t>(engine::Limit::kApproximate) + 1);
  ASSERT_TRUE(store_->Append(RowsOfAllCauses(), 1).ok());
  SqlRows expected;
  for (size_t i = 0; i < kReasonWords.size(); ++i) {
    expected.push_back({kReasonWords[i], kLimitWords[i % kLimitWords.size()]});
  }
  std::sort(expected.begin(), expected.end());
  SqlRows seen = database_.RunSql("SELECT reason, limit_kind FROM headgate_log.log");
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, expected);
}

// The schema is of the same version: servers of both may write into it.
TEST_F(LogStoreTest, AnOlderHeadgatesViewIsGivenTheWordsItLacks) {
  ASSERT_TRUE(Append(1).ok());
  database_.RunSql(
      "CREATE ROLE reader; GRANT SELECT ON headgate_log.log TO reader;"
      "CREATE OR REPLACE VIEW headgate_log.log AS SELECT at, make_interval(secs => step_s) AS step,"
      " identity, target, folded, NULL::text AS outcome,"
      " (ARRAY['none', 'permits'])[reason + 1] AS reason, NULL::text AS limit_kind, budget, rule,"
      " signal, checks, cost, peak, threshold, server, began, admitted, denied, gone,"
      " NULL::interval AS waited, NULL::interval AS held, NULL::interval AS longest,"
      " within_100ms, within_1s, within_10s, within_1min, within_10min, longer FROM "
      "headgate_log.fine JOIN headgate_log.whos ON whos.id = who"
      " JOIN headgate_log.whats ON whats.id = what");
  store_ = database_.Open({});
  ASSERT_TRUE(store_->Append(RowsOfAllCauses(), 100).ok());
  EXPECT_THAT(database_.RunSql("SELECT count(*) FROM headgate_log.log WHERE reason IS NULL OR"
                               " limit_kind IS NULL OR outcome IS NULL"),
              ElementsAre(ElementsAre("0")));
  EXPECT_THAT(database_.RunSql("SELECT has_table_privilege('reader', 'headgate_log.log', 'SELECT'),"
                               " version FROM headgate_log.version"),
              ElementsAre(ElementsAre("t", "3")));
}

// Names are of any language, and a batch with one that has no place would never be written.
TEST_F(LogStoreTest, ADatabaseThatCannotHoldEveryNameIsRefused) {
  database_.RunSql("CREATE DATABASE western ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  PostgresLogStoreOptions options;
  options.dsn = [] { return server().Dsn("postgres", "western"); };
  PostgresLogStore store(options, {}, clock_);
  const absl::Status status =
      store.Append(std::vector<Row>{AllowedRow(kLogBegin, "Перенос данных", 1)}, 1);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot be in database western: its encoding is LATIN1"));
}

// As an older Headgate began it: it goes on, and says so.
TEST_F(LogStoreTest, ADatabaseThatWasBegunInAnotherEncodingHasNoMojibake) {
  ASSERT_TRUE(Append(1).ok());
  store_ = nullptr;
  ASSERT_TRUE(server()
                  .RunSql(absl::StrCat("UPDATE pg_database SET encoding = pg_char_to_encoding("
                                       "'LATIN1') WHERE datname = '",
                                       database_.name(), "'"))
                  .ok());
  store_ = database_.Open({});
  const std::vector<Row> rows = {AllowedRow(kLogBegin, "Übertrag:данных", 1),
                                 AllowedRow(kLogBegin, "plain", 1)};
  const absl::Status status = store_->Append(rows, 100);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(database_.RunSql("SELECT identity FROM headgate_log.log ORDER BY identity"),
              ElementsAre(ElementsAre("?bertrag:??????"), ElementsAre("a"), ElementsAre("plain")));
  EXPECT_THAT(store_->State().note, HasSubstr("beyond ASCII are written as ?"));
}

TEST_F(LogStoreTest, ADayIsAPartition) {
  const std::vector<Row> rows = {AllowedRow(kLogBegin + 86'399, "a", 1),
                                 AllowedRow(kLogBegin + 86'400, "a", 1)};
  ASSERT_TRUE(store_->Append(rows, 1).ok());
  EXPECT_THAT(
      database_.RunSql("SELECT tableoid::regclass FROM headgate_log.fine ORDER BY at"),
      ElementsAre(ElementsAre("headgate_log.fine_20454"), ElementsAre("headgate_log.fine_20455")));
}

TEST_F(LogStoreTest, TwoWritersAddUp) {
  const std::unique_ptr<PostgresLogStore> other = database_.Open({});
  std::thread thread([&] {
    for (int i = 1; i <= 20; ++i) {
      const absl::Status status = other->Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 1)}, i);
      EXPECT_TRUE(status.ok()) << status;
    }
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Append(100).ok());
  thread.join();
  EXPECT_EQ(ChecksIn(*store_), 2020);
}

TEST_F(LogStoreTest, NamesTakeNumbersOnce) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Append(1).ok());
  ASSERT_TRUE(store_->Append(std::vector<Row>{AllowedRow(kLogBegin, "b", 1)}, 100).ok());
  EXPECT_THAT(database_.RunSql("SELECT id FROM headgate_log.whos WHERE identity = 'b'"),
              ElementsAre(ElementsAre("2")));
}

TEST_F(LogStoreTest, UnusedNamesGoWithTheirDays) {
  ASSERT_TRUE(Append(1).ok());
  const int64_t later_s = kLogBegin + 40 * 86'400;
  ASSERT_TRUE(store_->Append(std::vector<Row>{AllowedRow(later_s, "b", 1)}, 100).ok());
  ASSERT_TRUE(store_->Maintain(absl::FromUnixSeconds(later_s)).ok());
  EXPECT_THAT(database_.RunSql("SELECT identity FROM headgate_log.whos"),
              ElementsAre(ElementsAre("b")));
}

TEST_F(LogStoreTest, ARoleThatOwnsItsDatabaseSuffices) {
  database_.RunSql("CREATE ROLE keeper LOGIN");
  database_.RunSql("CREATE DATABASE kept OWNER keeper");
  PostgresLogStoreOptions options;
  options.dsn = [] { return server().Dsn("keeper", "kept"); };
  PostgresLogStore store(options, {}, clock_);
  EXPECT_TRUE(store.Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 1)}, 1).ok());
  EXPECT_TRUE(store.Maintain(absl::FromUnixSeconds(kLogBegin)).ok());
  EXPECT_EQ(ChecksIn(store), 1);
}

TEST_F(LogStoreTest, ARoleThatOwnsTheSchemaSuffices) {
  database_.RunSql("CREATE ROLE owner LOGIN; CREATE SCHEMA headgate_log AUTHORIZATION owner");
  PostgresLogStoreOptions options;
  options.dsn = [this] { return server().Dsn("owner", database_.name()); };
  PostgresLogStore store(options, {}, clock_);
  EXPECT_TRUE(store.Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 1)}, 1).ok());
  EXPECT_EQ(ChecksIn(store), 1);
}

TEST_F(LogStoreTest, ARoleThatMayNotIsToldSo) {
  database_.RunSql("CREATE ROLE nobody LOGIN");
  PostgresLogStoreOptions options;
  options.dsn = [] { return server().Dsn("nobody"); };
  PostgresLogStore store(options, {}, clock_);
  const absl::Status status = store.Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 1)}, 1);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(store.State().status, status);
}

TEST_F(LogStoreTest, AConnectionStringThatCannotBeReadIsNotShown) {
  PostgresLogStoreOptions options;
  options.dsn = [] { return "password=secret nonsense"; };
  const absl::Status status = PostgresLogStore(options, {}, clock_)
                                  .Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 1)}, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("secret")));
}

// Version 1 knew no servers, and neither it nor version 2 knew waits.
TEST_F(LogStoreTest, AnOlderSchemaIsBroughtUpToDate) {
  ASSERT_TRUE(Append(1).ok());
  const std::string no_waits =
      absl::StrReplaceAll(WaitColumnsAdded(), {{"ADD COLUMN", "DROP COLUMN"}, {" bigint", ""}});
  database_.RunSql(absl::StrCat("DROP VIEW headgate_log.log; ALTER TABLE headgate_log.fine ",
                                no_waits, "; ALTER TABLE headgate_log.coarse ", no_waits));
  database_.RunSql(R"sql(
ALTER TABLE headgate_log.whos DROP COLUMN server,
  ADD CONSTRAINT whos_path_target_folded_key UNIQUE (path, target, folded);
CREATE VIEW headgate_log.log AS
SELECT at, make_interval(secs => step_s) AS step, identity, target, folded,
  (ARRAY['allowed', 'would_be_denied', 'denied'])[outcome + 1] AS outcome,
  (ARRAY['none', 'exempt', 'deny_rule', 'reject_ratio', 'health', 'max_cost', 'max_concurrency',
         'capacity', 'permits'])[reason + 1] AS reason,
  (ARRAY['rule', 'health', 'rate', 'burst', 'max_cost', 'max_concurrency',
         'probe', 'permits'])[limit_kind + 1] AS limit_kind,
  budget, rule, signal, checks, cost, peak, threshold
FROM (SELECT * FROM headgate_log.fine UNION ALL SELECT * FROM headgate_log.coarse) AS counts
  JOIN headgate_log.whos ON whos.id = who JOIN headgate_log.whats ON whats.id = what;
UPDATE headgate_log.version SET version = 1)sql");
  const std::unique_ptr<PostgresLogStore> store = database_.Open({});
  Row row = AllowedRow(kLogBegin, "a", 2);
  row.key.server = "headgate-1";
  const Row waited = WaitedRow(kLogBegin, "a", "lag", {.began = 2, .waited_ns = 5'000'000});
  ASSERT_TRUE(store->Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 4), row, waited}, 1).ok());
  EXPECT_THAT(database_.RunSql("SELECT server, checks FROM headgate_log.log"
                               " WHERE outcome = 'allowed' ORDER BY server"),
              ElementsAre(ElementsAre("", "5"), ElementsAre("headgate-1", "2")));
  EXPECT_THAT(database_.RunSql("SELECT began, waited FROM headgate_log.log"
                               " WHERE outcome = 'waited'"),
              ElementsAre(ElementsAre("2", "00:00:00.005")));
  EXPECT_EQ(database_.RunSql("SELECT version FROM headgate_log.version")[0][0], "3");
}

TEST_F(LogStoreTest, ANewerSchemaIsRefused) {
  ASSERT_TRUE(Append(1).ok());
  database_.RunSql("UPDATE headgate_log.version SET version = 4");
  const absl::Status status =
      database_.Open({})->Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 1)}, 1);
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer Headgate"));
}

TEST_F(LogStoreTest, AServerThatIsStoppedAndStartedLosesNothing) {
  ASSERT_TRUE(Append(1).ok());
  ASSERT_TRUE(server().Stop().ok());
  const absl::Status status = Append(2);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::IsUnavailable(store_->State().status));
  EXPECT_FALSE(store_->Scan(Everything(), [](const Row&) { return true; }).ok());
  ASSERT_TRUE(server().Start().ok());
  EXPECT_TRUE(RepeatsUntilItIsIn(2));
  EXPECT_EQ(ChecksIn(*store_), 3);
}

TEST_F(LogStoreTest, AServerThatIsKilledLosesNothing) {
  ASSERT_TRUE(Append(1).ok());
  EXPECT_EQ(ChecksIn(*store_), 1);
  server().Kill();
  EXPECT_TRUE(absl::IsUnavailable(Append(2)));
  ASSERT_TRUE(server().Start().ok());
  EXPECT_TRUE(RepeatsUntilItIsIn(2));
  EXPECT_EQ(ChecksIn(*store_), 3);
}

TEST_F(LogStoreTest, AHungServerIsGivenUpInTimeAndNothingCountsTwice) {
  ASSERT_TRUE(Append(1).ok());
  BecomeImpatient();
  server().Suspend();
  for (int i = 0; i < 2; ++i) {  // with a session, and then while connecting
    const double began = Seconds();
    const absl::Status status = i == 0 ? Append(2) : Repeat(2);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_LT(Seconds() - began, kLongest);
  }
  const double began = Seconds();
  EXPECT_FALSE(store_->Scan(Everything(), [](const Row&) { return true; }).ok());
  EXPECT_LT(Seconds() - began, kLongest);
  server().Resume();
  EXPECT_TRUE(RepeatsUntilItIsIn(2));
  EXPECT_EQ(ChecksIn(*database_.Open({})), 3);
}

// The server is stopped at different places of a batch, its commit among them, and goes on with
// what it had received while the batch is repeated.
TEST_F(LogStoreTest, ABatchWhoseEndNobodySawCountsOnce) {
  std::vector<Row> rows;
  for (int i = 0; i < 2000; ++i)
    rows.push_back(AllowedRow(kLogBegin + i % 50 * 10, absl::StrCat("i", i), 1));
  ASSERT_TRUE(store_->Append(rows, ++batch_).ok());
  BecomeImpatient();
  for (int round = 0; round < 4; ++round) {
    ++batch_;
    // Whether this one gets through is left open.
    std::thread appending([&] { store_->Append(rows, batch_).IgnoreError(); });
    WaitUntil([] { return false; }, absl::Milliseconds(10 * round));
    server().Suspend();
    appending.join();
    server().Resume();
    EXPECT_TRUE(WaitUntil([&] { return store_->Append(rows, batch_).ok(); }));
  }
  EXPECT_EQ(ChecksIn(*database_.Open({})), 2000 * 5);
}

// Whether or not the commit got through before the connection was cut.
TEST_F(LogStoreTest, ACommitWhoseAnswerIsLostCountsOnce) {
  ASSERT_TRUE(Append(1).ok());
  database_.RunSql(
      "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER cut AFTER UPDATE ON headgate_log.writers"
      " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()");
  EXPECT_FALSE(Append(2).ok());
  database_.RunSql("DROP TRIGGER cut ON headgate_log.writers");
  EXPECT_TRUE(RepeatsUntilItIsIn(2));
  EXPECT_EQ(ChecksIn(*store_), 3);
}

TEST_F(LogStoreTest, ALockedTableIsGivenUpInTime) {
  ASSERT_TRUE(Append(1).ok());
  BecomeImpatient();
  absl::StatusOr<SqlSession> session =
      SqlSession::Open(server().SocketDsn("postgres", database_.name()));
  ASSERT_TRUE(session->Run("BEGIN; LOCK TABLE headgate_log.fine").ok());
  const double began = Seconds();
  const absl::Status status = Append(2);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(Seconds() - began, kLongest);
  ASSERT_TRUE(session->Run("COMMIT").ok());
  EXPECT_TRUE(RepeatsUntilItIsIn(2));
  EXPECT_EQ(ChecksIn(*database_.Open({})), 3);
}

TEST_F(LogStoreTest, ASchemaThatWasDroppedIsMadeAnew) {
  ASSERT_TRUE(Append(1).ok());
  database_.RunSql("DROP SCHEMA headgate_log CASCADE");
  EXPECT_FALSE(Append(2).ok());
  EXPECT_TRUE(RepeatsUntilItIsIn(2));
  EXPECT_EQ(ChecksIn(*store_), 2);
}

}  // namespace
}  // namespace headgate::postgres
