// What WorkSampler makes of a real pg_stat_statements, at times that the test says.

#include "server/observe/postgres/work_sampler.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/observe/postgres/deadline.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

class Sampler : public ProbeTest {
 protected:
  static constexpr absl::Duration kPatience = absl::Minutes(1);  // nothing here is to fail

  void SetUp() override {
    ProbeTest::SetUp();
    if (IsSkipped()) return;
    RunSql("SELECT pg_stat_statements_reset()");
    Connect();
    Begin(WorkSampler::kMostRemembered);
  }

  void Connect() {
    const Deadline deadline(clock_, kPatience);
    const absl::Status opened =
        pipeline_.Open(primary().Dsn("headgate", kDatabase, kPassword), kPatience, deadline);
    ASSERT_TRUE(opened.ok()) << opened;
  }

  void Begin(size_t most_remembered) {
    sampler_.emplace(health::BatchWorkSpec{.roles = {"etl"}, .application_names = {}},
                     most_remembered);
    (void)Read();  // finds the extension
  }

  // So much later than the reading before.
  health::WorkCounters Read(int64_t later_s = 60) {
    const Deadline deadline(clock_, kPatience);
    at_ns_ += later_s * 1'000'000'000;
    const auto tables = pipeline_.Run(
        sampler_->Statements(at_ns_, health::StatementsWish::kNow, pipeline_.server_version()),
        deadline);
    EXPECT_TRUE(tables.ok()) << tables.status();
    absl::StatusOr<health::WorkCounters> work = sampler_->Read(*tables, at_ns_);
    EXPECT_TRUE(work.ok()) << work.status();
    return *work;
  }

  // Statements number `from` to `to`, each `times` times.
  static void RunEach(SqlSession& session, int from, int to, int times) {
    std::string sql;
    for (int i = from; i <= to; ++i) {
      std::string one = "SELECT 1";
      for (int column = 0; column < i % 20; ++column) one += ", 1";
      one += " WHERE true";
      for (int term = 0; term < i / 20; ++term) one += " AND true";
      for (int n = 0; n < times; ++n) absl::StrAppend(&sql, one, ";");
    }
    Run(session, sql);
  }

  int64_t at_ns_ = 0;
  Pipeline pipeline_;
  std::optional<WorkSampler> sampler_;
};

TEST_F(Sampler, StatementsThatRunNowAreSeenBesideThoseThatRanForYears) {
  SqlSession app = Open("app");
  RunEach(app, 1, 250, 12);
  RunEach(app, 251, 260, 1);
  (void)Read();
  RunEach(app, 251, 260, 5);
  const health::WorkCounters before = Read();
  RunEach(app, 251, 260, 5);
  RunEach(app, 1, 10, 1);  // of which some were left out
  const health::WorkCounters after = Read();
  ASSERT_TRUE(before.statements.has_value() && after.statements.has_value());
  EXPECT_GE(after.statements->calls - before.statements->calls, 50);
  EXPECT_LE(after.statements->calls - before.statements->calls, 60);
  EXPECT_EQ(after.statements->generation, before.statements->generation);
  RunEach(app, 1, 10, 1);
  EXPECT_EQ(Read().statements->calls - after.statements->calls, 10);
}

// 4,000 characters are less than 200 entries: those with at least 8 calls are remembered in the
// end.
TEST_F(Sampler, InAViewThatIsTooLargeStatementsAreSeenOnceTheyHaveRunAFewTimes) {
  Begin(4000);
  SqlSession app = Open("app");
  RunEach(app, 1, 250, 5);
  RunEach(app, 1, 50, 5);
  for (int i = 0; i < 8; ++i) (void)Read();
  RunEach(app, 251, 260, 20);
  RunEach(app, 1, 1, 1);
  (void)Read();
  RunEach(app, 251, 260, 20);
  RunEach(app, 1, 1, 1);
  const health::WorkCounters before = Read();
  RunEach(app, 251, 260, 20);
  RunEach(app, 1, 1, 1);
  const health::WorkCounters after = Read();
  EXPECT_EQ(after.statements->calls - before.statements->calls, 201);
  EXPECT_EQ(after.statements->generation, before.statements->generation);
}

TEST_F(Sampler, WhereMoreRunThanAreComparedItIsSaidAndTheSameAreCompared) {
  SqlSession app = Open("app");
  RunEach(app, 1, 250, 4);
  EXPECT_EQ(Read().statements_note, "");
  RunEach(app, 1, 250, 4);
  const health::WorkCounters before = Read();
  EXPECT_THAT(before.statements_note, HasSubstr("more than 200 statements run"));
  RunEach(app, 1, 250, 4);
  const health::WorkCounters after = Read();
  EXPECT_EQ(after.statements->calls - before.statements->calls, 800);
  EXPECT_EQ(after.statements->generation, before.statements->generation);
  (void)Read();
  EXPECT_EQ(Read().statements_note, "");
}

TEST_F(Sampler, OfARoleThatWasResetWithOthersLeftOutTheDifferenceIsThrownAway) {
  SqlSession app = Open("app");
  RunEach(app, 1, 300, 4);
  (void)Read();
  RunEach(app, 291, 300, 60);
  (void)Read();
  RunEach(app, 291, 300, 60);
  const health::WorkCounters before = Read();
  RunSql("SELECT pg_stat_statements_reset('app'::regrole)");
  RunEach(app, 1, 300, 4);
  const health::WorkCounters after = Read();
  EXPECT_NE(after.statements->generation, before.statements->generation);
  EXPECT_EQ(after.statements->calls, before.statements->calls);
}

// Each of the settings is of new sessions in this database.
TEST_F(Sampler, WhereNothingIsRecordedTheSettingIsSaidToBeWhy) {
  for (const std::string setting : {"compute_query_id = off", "pg_stat_statements.track = none"}) {
    RunSql("ALTER DATABASE shop SET " + setting);
    Connect();
    (void)Read();  // of what ran before
    const std::string name = setting.substr(0, setting.find(' '));
    SqlSession app = Open("app");
    for (int i = 0; i < 2; ++i) {
      RunEach(app, 1, 10, 1);
      const health::WorkCounters work = Read();
      EXPECT_FALSE(work.statements.has_value()) << setting;
      EXPECT_THAT(work.statements_missing, HasSubstr(name + " is"));
    }
    // As another module may, or settings of a role.
    SqlSession other = Open();
    Run(other, "SET compute_query_id = on; SET pg_stat_statements.track = 'top'");
    RunEach(other, 1, 10, 1);
    (void)Read();
    RunEach(other, 1, 10, 1);
    const health::WorkCounters work = Read();
    EXPECT_TRUE(work.statements.has_value()) << setting;
    EXPECT_EQ(work.statements_missing, "");
    RunSql("ALTER DATABASE shop RESET " + name);
  }
}

TEST_F(Sampler, AResetIsToldForAsLongAsItIsDistrusted) {
  EXPECT_EQ(Read().statements_note, "");
  RunSql("SELECT pg_stat_statements_reset()");
  EXPECT_THAT(Read().statements_note, HasSubstr("its counts begin anew"));
  EXPECT_THAT(Read(9).statements_note, HasSubstr("its counts begin anew"));
  EXPECT_EQ(Read(1).statements_note, "");
}

}  // namespace
}  // namespace headgate::postgres
