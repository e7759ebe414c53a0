// What the controller of `rate: auto` is fed with.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

class Work : public ProbeTest {
 protected:
  PostgresProbe ProbeFor(health::BatchWorkSpec batch_work) {
    PostgresProbeOptions options = On(primary());
    options.batch_work = std::move(batch_work);
    return MakeProbe(options);
  }

  static health::WorkCounters Sample(PostgresProbe& probe) {
    absl::StatusOr<health::WorkCounters> work = probe.SampleWork(health::StatementsWish::kNow);
    EXPECT_TRUE(work.ok()) << work.status();
    return work.ok() ? *work : health::WorkCounters();
  }

  // One that has statement statistics: they are not in each.
  static health::WorkCounters::Statements SampleStatements(PostgresProbe& probe) {
    health::WorkCounters work;
    EXPECT_TRUE(WaitUntil([&] {
      work = Sample(probe);
      return work.statements.has_value();
    }));
    return work.statements.value_or(health::WorkCounters::Statements());
  }

  static bool CountsBecome(PostgresProbe& probe, double foreground, double batch) {
    return WaitUntil([&] {
      const health::WorkCounters work = Sample(probe);
      return work.foreground_active == foreground && work.batch_active == batch;
    });
  }
};

TEST_F(Work, EachWriterMovesTheNextTransactionIdByOne) {
  PostgresProbe probe = ProbeFor({});
  SqlSession session = Open();
  const health::WorkCounters before = Sample(probe);
  for (int i = 0; i < 5; ++i) Run(session, "SELECT pg_current_xact_id()");
  Run(session, "SELECT 1");
  const health::WorkCounters after = Sample(probe);
  EXPECT_EQ(after.next_xid - before.next_xid, 5);
  EXPECT_GT(after.sampled_at_ns, before.sampled_at_ns);
}

TEST_F(Work, SessionsAreToldApartByAnyOfSeveralRoles) {
  PostgresProbe probe = ProbeFor({.roles = {"etl", "nightly"}, .application_names = {}});
  SqlSession app = Open("app"), etl = Open("etl"), idle = Open("etl");
  ASSERT_TRUE(app.Start("SELECT pg_sleep(60)").ok());
  ASSERT_TRUE(etl.Start("SELECT pg_sleep(60)").ok());
  EXPECT_TRUE(CountsBecome(probe, 1, 1));
  RunSql(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename IN ('app', "
      "'etl')");
  EXPECT_TRUE(CountsBecome(probe, 0, 0));
}

TEST_F(Work, SessionsAreToldApartByApplicationNameWithAnyRest) {
  PostgresProbe probe = ProbeFor({.roles = {}, .application_names = {"back_fill*", "100%"}});
  SqlSession match = Open("app", "application_name=back_fill:7");
  SqlSession percent = Open("app", "application_name=100%");
  SqlSession other = Open("app", "application_name=backXfill:7");
  SqlSession more = Open("app", "application_name=100%x");
  for (SqlSession* session : {&match, &percent, &other, &more}) {
    ASSERT_TRUE(session->Start("SELECT pg_sleep(60)").ok());
  }
  EXPECT_TRUE(CountsBecome(probe, 2, 2));
  const health::WorkCounters work = Sample(probe);
  EXPECT_FALSE(work.statements.has_value());
  EXPECT_THAT(work.statements_missing, testing::HasSubstr("name roles"));
  RunSql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'app'");
}

TEST_F(Work, StatementsAreThoseOfOtherRolesThanTheBatchs) {
  RunSql("SELECT pg_stat_statements_reset()");  // with those of other tests not all are compared
  PostgresProbe probe = ProbeFor({.roles = {"etl"}, .application_names = {}});
  SqlSession app = Open("app"), etl = Open("etl");
  Run(app, "SELECT pg_sleep(0.01)");
  const health::WorkCounters::Statements before = SampleStatements(probe);
  for (int i = 0; i < 10; ++i) Run(app, i < 5 ? "SELECT pg_sleep(0.01)" : "SELECT pg_sleep(0.1)");
  for (int i = 0; i < 20; ++i) Run(etl, "SELECT pg_sleep(0.01)");
  const health::WorkCounters::Statements after = SampleStatements(probe);
  EXPECT_EQ(after.calls - before.calls, 10);
  EXPECT_GE(after.busy_seconds - before.busy_seconds, 0.55);
  // They run often, so their times count: the mean and the variance of these ten.
  ASSERT_EQ(after.timed_calls - before.timed_calls, 10);
  const double mean = (after.timed_seconds - before.timed_seconds) / 10;
  EXPECT_GE(mean, 0.055);
  const double variance = (after.timed_deviations - before.timed_deviations) / 10;
  EXPECT_GE(variance, 0.03 * 0.03);
  // However long some of ten took, it is no more than that.
  EXPECT_LE(variance, mean * mean * 9 * 1.001);
  EXPECT_EQ(after.generation, before.generation);
}

TEST_F(Work, ResetStatisticsAreAnotherGeneration) {
  PostgresProbe probe = ProbeFor({.roles = {"etl"}, .application_names = {}});
  SqlSession app = Open("app");
  const auto after_ten = [&] {
    for (int i = 0; i < 10; ++i) Run(app, "SELECT 1");
    return SampleStatements(probe);
  };
  (void)after_ten();
  const health::WorkCounters::Statements before = after_ten();
  RunSql("SELECT pg_stat_statements_reset()");
  (void)after_ten();
  const health::WorkCounters::Statements after = after_ten();
  EXPECT_NE(after.generation, before.generation);
  EXPECT_EQ(after_ten().generation, after.generation);
  // Of one role alone, which the extension does not note.
  RunSql("SELECT pg_stat_statements_reset('app'::regrole)");
  const health::WorkCounters::Statements again = SampleStatements(probe);
  EXPECT_NE(again.generation, after.generation);
  EXPECT_LE(again.calls - after.calls, 10);
}

// Of a cluster of its own, which remembers as few statements as PostgreSQL lets it.
class SmallView : public Work {
 protected:
  void SetUp() override {
    Work::SetUp();
    if (IsSkipped()) return;
    auto small =
        PostgresCluster::Start({.settings = {{"shared_preload_libraries", "pg_stat_statements"},
                                             {"pg_stat_statements.max", "100"}}});
    ASSERT_TRUE(small.ok()) << small.status();
    small_ = *std::move(small);
    PostgresServer& server = small_->primary();
    ASSERT_TRUE(server
                    .RunSql("CREATE EXTENSION pg_stat_statements; CREATE ROLE app LOGIN; "
                            "CREATE ROLE etl LOGIN; CREATE ROLE headgate LOGIN IN ROLE pg_monitor")
                    .ok());
    PostgresProbeOptions options = On(primary());
    options.dsn = [&server]() -> absl::StatusOr<std::string> {
      return server.SocketDsn("headgate");
    };
    options.batch_work.roles = {"etl"};
    probe_ = std::make_unique<PostgresProbe>(std::move(options), clock_);
  }

  SqlSession OpenAs(const std::string& role) {
    absl::StatusOr<SqlSession> session = SqlSession::Open(small_->primary().SocketDsn(role));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  health::WorkCounters ReadAll() {
    health::WorkCounters work;
    EXPECT_TRUE(WaitUntil([&] {
      work = Sample(*probe_);
      return work.statements.has_value();
    }));
    return work;
  }
  // So many statements of which no two are alike.
  static void RunOnceEach(SqlSession& session, int count) {
    std::string columns = "1";
    for (int i = 0; i < count; ++i) Run(session, absl::StrCat("SELECT ", columns += ", 1"));
  }

  std::unique_ptr<PostgresCluster> small_;
  std::unique_ptr<PostgresProbe> probe_;
};

TEST_F(SmallView, ForgetsRareStatementsIsSaidToAndCountsTheOthers) {
  SqlSession app = OpenAs("app");
  const auto often = [&] {
    for (int i = 0; i < 50; ++i) Run(app, "SELECT true");
  };
  often();
  const health::WorkCounters before = ReadAll();
  EXPECT_EQ(before.statements_note, "");
  RunOnceEach(app, 150);
  often();
  const health::WorkCounters after = ReadAll();
  EXPECT_THAT(after.statements_note, testing::HasSubstr("is full and forgets statements"));
  EXPECT_EQ(after.statements->calls - before.statements->calls, 50);
  EXPECT_EQ(after.statements->generation, before.statements->generation);
}

TEST_F(SmallView, WhatRanAndWasForgottenIsKnownToHaveRun) {
  SqlSession app = OpenAs("app");
  RunOnceEach(app, 120);
  const health::WorkCounters before = ReadAll();
  RunOnceEach(app, 400);
  const health::WorkCounters after = ReadAll();
  EXPECT_EQ(after.statements->ran_generation, before.statements->ran_generation);
  EXPECT_GE(after.statements->ran - before.statements->ran, 320);
  EXPECT_LE(after.statements->ran - before.statements->ran, 420);
  EXPECT_LE(after.statements->calls - before.statements->calls, 100);
}

TEST_F(SmallView, WhatBatchWorkRanAndWasForgottenIsNoForeground) {
  SqlSession app = OpenAs("app"), etl = OpenAs("etl");
  for (int i = 0; i < 50; ++i) Run(app, "SELECT true");
  RunOnceEach(etl, 120);
  const health::WorkCounters before = ReadAll();
  RunOnceEach(etl, 400);
  const health::WorkCounters after = ReadAll();
  EXPECT_LE(after.statements->ran - before.statements->ran, 20);
}

TEST_F(Work, WithoutTheExtensionThereAreNoStatements) {
  PostgresProbeOptions options = On(primary());
  options.batch_work.roles = {"etl"};
  options.dsn = [] { return primary().Dsn("headgate", "postgres", kPassword); };
  PostgresProbe probe = MakeProbe(options);
  for (int i = 0; i < 3; ++i) {
    const health::WorkCounters work = Sample(probe);
    EXPECT_GT(work.next_xid, 0);
    EXPECT_FALSE(work.statements.has_value());
    EXPECT_THAT(work.statements_missing, testing::HasSubstr("not installed"));
  }
}

TEST_F(Work, StatementsThatAreDroppedAreSaidToBeMissingAndFoundAgain) {
  RunSql("CREATE SCHEMA IF NOT EXISTS public");
  PostgresProbe probe = ProbeFor({.roles = {"etl"}, .application_names = {}});
  (void)SampleStatements(probe);
  RunSql("DROP EXTENSION pg_stat_statements");
  health::WorkCounters work;
  EXPECT_TRUE(WaitUntil([&] {
    work = Sample(probe);
    return !work.statements_missing.empty();
  }));
  EXPECT_GT(work.next_xid, 0);
  EXPECT_FALSE(work.statements.has_value());
  RunSql("CREATE EXTENSION pg_stat_statements");
  PostgresProbe fresh = ProbeFor({.roles = {"etl"}, .application_names = {}});
  (void)SampleStatements(fresh);
}

TEST_F(Work, OfARoleThatOthersUseTooHasNoStatements) {
  PostgresProbe probe = ProbeFor({.roles = {"etl"}, .application_names = {}});
  SampleStatements(probe);
  {
    SqlSession other = Open("headgate");
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(Sample(probe).statements.has_value());
  }
  SampleStatements(probe);
}

TEST_F(Work, OfAStandbyIsRefused) {
  PostgresProbeOptions options = On(standby());
  PostgresProbe probe = MakeProbe(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(probe.SampleWork(health::StatementsWish::kNow).status()));
}

}  // namespace
}  // namespace headgate::postgres
