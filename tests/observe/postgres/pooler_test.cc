// Behind a connection pooler: what is measured and logged is so all the same where that can be,
// nothing is left in a session that somebody else gets next, and it is said that there is one.

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/observe/postgres/log_store.h"
#include "server/observe/postgres/session.h"
#include "tests/observe/postgres/probe_fixture.h"
#include "tests/testing/log_store_contract.h"
#include "tests/testing/postgres_bouncer.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;
using throttle_log::Row;

constexpr char kAdvice[] = "put PostgreSQL's own host and port into the connection string";

class PoolerTest : public ProbeTest {
 protected:
  void SetUp() override {
    if (absl::StatusOr<std::string> program = PostgresBouncer::Program(); !program.ok()) {
      GTEST_SKIP() << program.status().message();
    }
    ProbeTest::SetUp();
  }

  // Before the primary. What is in the way of it is the failure of the test.
  static std::unique_ptr<PostgresBouncer> Bouncer(const std::string& mode,
                                                  const std::string& ignored = "") {
    auto bouncer = PostgresBouncer::Start(
        cluster().folder(), primary(),
        {.mode = mode, .roles = {"headgate", "app"}, .password = kPassword, .ignored = ignored});
    EXPECT_TRUE(bouncer.ok()) << bouncer.status();
    return *std::move(bouncer);
  }
  static std::string LeftBehind(const PostgresBouncer& bouncer, const std::string& role) {
    const absl::StatusOr<std::string> left = bouncer.LeftBehind(role, kDatabase);
    EXPECT_TRUE(left.ok()) << left.status();
    return left.value_or("?");
  }
  static PostgresProbeOptions Through(const PostgresBouncer& bouncer) {
    PostgresProbeOptions options = On(primary());
    options.dsn = [dsn = bouncer.Dsn("headgate", kDatabase)] { return dsn; };
    options.batch_work.roles = {"etl"};
    return options;
  }
};

class PoolerModeTest : public PoolerTest, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Modes, PoolerModeTest,
                         testing::Values("session", "transaction", "statement"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST_P(PoolerModeTest, AllSignalsAreReadAndNothingIsLeftBehind) {
  const std::unique_ptr<PostgresBouncer> bouncer = Bouncer(GetParam());
  PostgresProbe probe = MakeProbe(Through(*bouncer));
  std::vector<health::SignalQuery> queries;
  for (const SignalSource& source : AllSources()) {
    if (source.query != Query::kStandby) queries.push_back(QueryFor(source.signal));
  }
  for (const char* const sql :
       {"SELECT 7", "SELECT current_setting('transaction_read_only')::bool::int"}) {
    queries.push_back(CustomQuery(sql));
  }
  for (int i = 0; i < 3; ++i) {
    const auto readings = probe.Poll(queries);
    ASSERT_TRUE(readings.ok()) << readings.status();
    for (const health::Reading& reading : *readings) {
      EXPECT_EQ(reading.error, "") << reading.instance;
    }
    ASSERT_GE(readings->size(), 2u);
    EXPECT_EQ(readings->at(readings->size() - 2).value, 7);
    EXPECT_EQ(readings->back().value, 1);
    const auto work = probe.SampleWork(health::StatementsWish::kNow);
    ASSERT_TRUE(work.ok()) << work.status();
    EXPECT_GT(work->next_xid, 0);
    EXPECT_EQ(LeftBehind(*bouncer, "headgate"), "");
  }
  EXPECT_THAT(probe.Note(), HasSubstr(kAdvice));
}

// Two monitors, and one that was started anew, of one session of the server's.
TEST_P(PoolerModeTest, SeveralMonitorsShareASession) {
  const std::unique_ptr<PostgresBouncer> bouncer = Bouncer(GetParam());
  for (int i = 0; i < 3; ++i) {
    PostgresProbe one = MakeProbe(Through(*bouncer));
    PostgresProbe another = MakeProbe(Through(*bouncer));
    for (PostgresProbe* const probe : {&one, &another, &one}) {
      EXPECT_GE(ValueOf(*probe, "active_backends"), 0);
      EXPECT_TRUE(probe->SampleWork(health::StatementsWish::kNow).ok());
    }
  }
}

TEST_P(PoolerModeTest, TheApplicationsStatementsRunAsBefore) {
  const std::unique_ptr<PostgresBouncer> bouncer = Bouncer(GetParam());
  RunSql("CREATE TABLE orders (i int); GRANT ALL ON orders TO app, headgate");
  PostgresProbe probe = MakeProbe(Through(*bouncer));
  absl::StatusOr<SqlSession> app = SqlSession::Open(bouncer->Dsn("headgate", kDatabase));
  ASSERT_TRUE(app.ok()) << app.status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ValueOf(probe, CustomQuery("SELECT 1")), 1);
    Run(*app, "INSERT INTO orders VALUES (1)");
    EXPECT_EQ(Run(*app, "SHOW statement_timeout").at(0).at(0), "0");
  }
  EXPECT_EQ(RunSql("SELECT count(*) FROM orders")[0][0], "3");
  RunSql("DROP TABLE orders");
}

TEST_P(PoolerModeTest, ASignalsOwnQueryReadsOnlyAndWithinItsTime) {
  const std::unique_ptr<PostgresBouncer> bouncer = Bouncer(GetParam());
  RunSql("CREATE TABLE kept (i int); GRANT ALL ON kept TO headgate");
  PostgresProbeOptions options = Through(*bouncer);
  options.timeout = absl::Seconds(4);
  PostgresProbe probe = MakeProbe(options);
  const auto write = ReadOne(probe, CustomQuery("INSERT INTO kept VALUES (1) RETURNING i"));
  ASSERT_TRUE(write.has_value());
  EXPECT_THAT(write->error, HasSubstr("read-only"));
  const auto slow = ReadOne(probe, CustomQuery("SELECT 1 FROM pg_sleep(60)"));
  ASSERT_TRUE(slow.has_value());
  EXPECT_THAT(slow->error, HasSubstr("statement timeout"));
  EXPECT_EQ(LeftBehind(*bouncer, "headgate"), "");
  EXPECT_EQ(RunSql("SELECT count(*) FROM kept")[0][0], "0");
  RunSql("DROP TABLE kept");
}

TEST_F(PoolerTest, WhatASignalsOwnQuerySetsIsUndone) {
  const std::unique_ptr<PostgresBouncer> bouncer = Bouncer("transaction");
  PostgresProbe probe = MakeProbe(Through(*bouncer));
  const std::string set = "SELECT 1 / (set_config('work_mem', '77', false) = '77kB')::int";
  EXPECT_EQ(ValueOf(probe, CustomQuery(set)), 1);
  const auto failed = ReadOne(probe, CustomQuery(set + " - 1 / 0"));
  ASSERT_TRUE(failed.has_value());
  EXPECT_THAT(failed->error, HasSubstr("division by zero"));
  EXPECT_EQ(LeftBehind(*bouncer, "headgate"), "");
}

TEST_F(PoolerTest, WithoutOneThereIsNothingToSay) {
  PostgresProbe probe = MakeProbe(On(primary()));
  EXPECT_GE(ValueOf(probe, "active_backends"), 0);
  EXPECT_EQ(probe.Note(), "");
}

TEST_F(PoolerTest, OneThatIgnoresWhatItIsToldAtTheStartIsFoundOut) {
  for (const char* const ignored : {"", "options"}) {
    const std::unique_ptr<PostgresBouncer> bouncer = Bouncer("transaction", ignored);
    SocketWaiter waiter;
    Connector connector(waiter);
    const Deadline deadline(clock_, absl::Minutes(1));
    auto session = Session::Open(
        connector, {.dsn = bouncer->Dsn("app", kDatabase), .store = "the test"}, deadline);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_FALSE((*session)->is_own());
    EXPECT_THAT((*session)->Note(), HasSubstr(kAdvice));
    std::string limit;
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = (*session)->Transact(deadline, [&](pqxx::work& work) {
        limit = work.exec1("SHOW statement_timeout")[0].as<std::string>();
      });
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(limit, "5s");
      EXPECT_EQ(LeftBehind(*bouncer, "app"), "");
    }
  }
}

class PooledLog : public PoolerTest {
 protected:
  void Open(const PostgresBouncer& bouncer) {
    RunSql("DROP SCHEMA IF EXISTS headgate_log CASCADE; GRANT CREATE ON DATABASE shop TO app");
    PostgresLogStoreOptions options;
    options.dsn = [dsn = bouncer.Dsn("app", kDatabase)] { return dsn; };
    options.timeout = options.scan_timeout = absl::Minutes(1);
    options.on_note = [this](const std::string& note) { note_ = note; };
    store_ = std::make_unique<PostgresLogStore>(options, throttle_log::Retention(), clock_);
  }
  absl::Status Append(int64_t checks) {
    return store_->Append(std::vector<Row>{AllowedRow(kLogBegin, "a", checks)}, ++batch_);
  }

  std::string note_;
  int64_t batch_ = 0;
  std::unique_ptr<PostgresLogStore> store_;
};

TEST_F(PooledLog, IsWrittenReadAndMaintainedAndNothingIsLeftBehind) {
  for (const char* const mode : {"session", "transaction"}) {
    const std::unique_ptr<PostgresBouncer> bouncer = Bouncer(mode);
    Open(*bouncer);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Append(2).ok());
      EXPECT_EQ(LeftBehind(*bouncer, "app"), "") << mode;
    }
    EXPECT_TRUE(store_->Maintain(absl::FromUnixSeconds(kLogBegin)).ok());
    EXPECT_EQ(ChecksIn(*store_), 6) << mode;
    EXPECT_EQ(LeftBehind(*bouncer, "app"), "") << mode;
    EXPECT_THAT(note_, HasSubstr(kAdvice));
    EXPECT_EQ(store_->State().note, note_);
    store_ = nullptr;
  }
}

TEST_F(PooledLog, ThroughSingleStatementsSaysWhatToDo) {
  const std::unique_ptr<PostgresBouncer> bouncer = Bouncer("statement");
  Open(*bouncer);
  const absl::Status status = Append(1);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("hands out single statements"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(kAdvice));
  EXPECT_EQ(LeftBehind(*bouncer, "app"), "");
}

}  // namespace
}  // namespace headgate::postgres
