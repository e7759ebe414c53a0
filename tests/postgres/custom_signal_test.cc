// Signals of the operator's own SQL.

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/postgres/probe_fixture.h"

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
  options.timeout = absl::Seconds(2);
  PostgresProbe probe = MakeProbe(options);
  const std::vector<health::SignalQuery> queries = {CustomQuery("SELECT pg_sleep(60)"),
                                                    QueryFor("active_backends")};
  absl::StatusOr<std::vector<health::Reading>> readings = probe.Poll(queries);
  ASSERT_TRUE(readings.ok()) << readings.status();
  EXPECT_THAT(readings->at(0).error, HasSubstr("statement timeout"));
  EXPECT_TRUE(readings->at(1).value.has_value());
}

TEST_F(CustomSignal, WithMillionsOfRowsIsDrainedNotKept) {
  EXPECT_EQ(ErrorOf("SELECT generate_series(1, 500000)"), "the query returned several rows");
  EXPECT_EQ(ValueOf(probe(), CustomQuery("SELECT 1")), 1);
}

TEST_F(CustomSignal, ThatIsNoQueryEndsThePollWithItsName) {
  const health::SignalQuery copy = CustomQuery("COPY (SELECT 1) TO STDOUT");
  const absl::Status status = probe().Poll({&copy, 1}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("signal custom: COPY"));
  EXPECT_EQ(ValueOf(probe(), CustomQuery("SELECT 1")), 1);
}

}  // namespace
}  // namespace headgate::postgres
