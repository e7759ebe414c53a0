// Signals of the operator's own SQL.

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

class CustomSignal : public ProbeTest {
 protected:
  void SetUp() override {
    ProbeTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) probe_.emplace(On(primary()), clock_);
  }

  std::string ErrorOf(const std::string& sql) {
    std::optional<health::Reading> reading = ReadOne(probe(), CustomQuery(sql));
    if (!reading.has_value()) return "";
    EXPECT_FALSE(reading->value.has_value()) << sql;
    return reading->error;
  }

  PostgresProbe& probe() { return *probe_; }

 private:
  std::optional<PostgresProbe> probe_;
};

TEST_F(CustomSignal, IsOneNumberOfAnyType) {
  EXPECT_EQ(ValueOf(probe(), CustomQuery("SELECT 42")), 42);
  EXPECT_EQ(ValueOf(probe(), CustomQuery("SELECT 1.5::numeric")), 1.5);
  EXPECT_EQ(ValueOf(probe(), CustomQuery("SELECT -2e3::float8;")), -2000);
  EXPECT_EQ(ValueOf(probe(), CustomQuery("WITH a AS (VALUES (7)) SELECT * FROM a -- seven")), 7);
}

TEST_F(CustomSignal, WithoutExactlyOneNumberIsAnError) {
  EXPECT_EQ(ErrorOf("SELECT NULL::int"), "the query returned NULL");
  EXPECT_EQ(ErrorOf("SELECT 1 WHERE false"), "the query returned no row");
  EXPECT_EQ(ErrorOf("SELECT generate_series(1, 2)"), "the query returned several rows");
  EXPECT_EQ(ErrorOf("SELECT 1, 2"), "the query returned 2 columns");
  EXPECT_EQ(ErrorOf("SELECT interval '1 s'"),
            "the query returned \"00:00:01\", which is no number");
  EXPECT_EQ(ErrorOf("SELECT 'NaN'::float8"), "the query returned \"NaN\", which is no number");
}

TEST_F(CustomSignal, ThatDoesNotRunSaysWhatPostgresSays) {
  EXPECT_THAT(ErrorOf("SELEC 1"), HasSubstr("syntax error"));
  EXPECT_THAT(ErrorOf("SELECT * FROM gone"), HasSubstr("relation \"gone\" does not exist"));
  EXPECT_THAT(ErrorOf("SELECT 1; SELECT 2"), HasSubstr("multiple commands"));
  EXPECT_THAT(ErrorOf("SELECT 1 / 0"), HasSubstr("division by zero (22012)"));
}

TEST_F(CustomSignal, CanNotWrite) {
  RunSql("CREATE TABLE kept (i int); GRANT ALL ON kept TO headgate");
  EXPECT_THAT(ErrorOf("INSERT INTO kept VALUES (1) RETURNING i"), HasSubstr("read-only"));
  EXPECT_EQ(RunSql("SELECT count(*) FROM kept")[0][0], "0");
  RunSql("DROP TABLE kept");
}

TEST_F(CustomSignal, ThatIsSlowFailsAloneAfterHalfTheTimeout) {
  PostgresProbeOptions options = On(primary());
  options.timeout = absl::Seconds(4);
  const std::vector<health::SignalQuery> queries = {QueryFor("active_backends"),
                                                    CustomQuery("SELECT pg_sleep(60)")};
  absl::StatusOr<std::vector<health::Reading>> readings;
  // Again where a busy machine takes the other half.
  ASSERT_TRUE(WaitUntil([&] {
    PostgresProbe probe = MakeProbe(options);
    readings = probe.Poll(queries);
    return readings.ok();
  })) << readings.status();
  EXPECT_TRUE(readings->at(0).value.has_value());
  EXPECT_THAT(readings->at(1).error, HasSubstr("statement timeout"));
}

TEST_F(CustomSignal, WithMillionsOfRowsIsDrainedNotKept) {
  EXPECT_EQ(ErrorOf("SELECT generate_series(1, 500000)"), "the query returned several rows");
  EXPECT_EQ(ValueOf(probe(), CustomQuery("SELECT 1")), 1);
}

// Whatever it is, the other signals of the poll are read, and of polls after it.
class SpoilingSignal : public CustomSignal {
 protected:
  // The error of the one that spoils its session.
  std::string Poll(const std::string& sql) {
    const std::vector<health::SignalQuery> queries = {QueryFor("active_backends"), CustomQuery(sql),
                                                      Other()};
    absl::StatusOr<std::vector<health::Reading>> readings = probe().Poll(queries);
    EXPECT_TRUE(readings.ok()) << readings.status();
    if (!readings.ok() || readings->size() != 3) return "";
    EXPECT_TRUE(readings->at(0).value.has_value()) << readings->at(0).error;
    EXPECT_FALSE(readings->at(1).value.has_value());
    EXPECT_EQ(readings->at(2).value, 7) << readings->at(2).error;
    return readings->at(1).error;
  }

  // The process of the probe's session, which every new session changes.
  double Session() { return ValueOf(probe(), CustomQuery("SELECT pg_backend_pid()")); }

 private:
  static health::SignalQuery Other() {
    health::SignalQuery other = CustomQuery("SELECT 7");
    other.signal = "other";
    return other;
  }
};

TEST_F(SpoilingSignal, ThatIsNoQueryFailsAlone) {
  EXPECT_THAT(Poll("BEGIN"), HasSubstr("signal custom: BEGIN is not a query"));
  EXPECT_THAT(Poll("COPY (SELECT 1) TO STDOUT"), HasSubstr("signal custom: COPY is not a query"));
  EXPECT_THAT(Poll("COPY pg_class TO STDOUT"), HasSubstr("COPY is not a query"));
  EXPECT_THAT(Poll("DEALLOCATE ALL"), HasSubstr("is not a query"));
  EXPECT_THAT(Poll("SET statement_timeout = 0"), HasSubstr("SET is not a query"));
}

TEST_F(SpoilingSignal, LeavesNoTransactionInWhichActivityStandsStill) {
  Poll("BEGIN");
  SqlSession busy = Open("app");
  const double before = ValueOf(probe(), "connection_fraction");
  SqlSession another = Open("app");
  EXPECT_TRUE(Becomes(probe(), "connection_fraction", [&](double now) { return now > before; }));
}

TEST_F(SpoilingSignal, ThatEndsItsSessionFailsAlone) {
  EXPECT_THAT(Poll("SELECT pg_terminate_backend(pg_backend_pid())::int"),
              HasSubstr("signal custom: terminating connection"));
}

TEST_F(SpoilingSignal, IsNotAskedAgainForAWhile) {
  const std::string sql = "SELECT pg_terminate_backend(pg_backend_pid())::int";
  const std::string error = Poll(sql);
  EXPECT_THAT(error, HasSubstr("not asked again for 30s"));
  const double session = Session();
  EXPECT_EQ(Poll(sql), error);
  EXPECT_EQ(Session(), session);
}

}  // namespace
}  // namespace headgate::postgres
