// ExecThrottled, on a real PostgreSQL.

#include <headgate/fake.h>
#include <headgate/pqxx.h>

#include <memory>
#include <pqxx/pqxx>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class PqxxTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!PostgresCluster::BinFolder().ok()) return;  // each test skips
    absl::StatusOr<std::unique_ptr<PostgresCluster>> started =
        PostgresCluster::Start({.settings = {{"compute_query_id", "on"}}});
    ASSERT_TRUE(started.ok()) << started.status();
    cluster_ = started->release();
    const auto made = cluster_->primary().RunSql(
        "CREATE TABLE orders (id bigint PRIMARY KEY, note text);"
        "INSERT INTO orders SELECT i, 'x' FROM generate_series(1, 1000) i; ANALYZE orders");
    ASSERT_TRUE(made.ok()) << made.status();
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }

  void SetUp() override {
    if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
    ASSERT_NE(cluster_, nullptr);
    connection_ = std::make_unique<pqxx::connection>(cluster_->primary().Dsn());
    client_ = NewClient(headgate_);
  }

  std::string Count() {
    const auto rows = cluster_->primary().RunSql("SELECT count(*) FROM orders");
    return rows.ok() ? (*rows)[0][0] : rows.status().ToString();
  }

  static PostgresCluster* cluster_;
  FakeHeadgate headgate_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<pqxx::connection> connection_;
};

PostgresCluster* PqxxTest::cluster_ = nullptr;

TEST_F(PqxxTest, AsksWithThePlannersCostAndTheQuerysIdentifier) {
  const auto result = ExecThrottled(*client_, *connection_, {.tags = {{"job", "copy"}}},
                                    "SELECT * FROM orders WHERE id <= 100");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->size(), 100U);
  const CheckRequest check = headgate_.checks().at(0);
  EXPECT_GT(check.estimated_cost.value(), 1);
  EXPECT_THAT(check.pattern, MatchesRegex("-?[0-9]+"));
  EXPECT_EQ(check.tags.at("job"), "copy");
}

TEST_F(PqxxTest, KnowsAStatementByItsIdentifierWhateverItsParameters) {
  const std::string sql = "SELECT * FROM orders WHERE id BETWEEN $1 AND $2";
  EXPECT_EQ(ExecThrottled(*client_, *connection_, {}, sql, 1, 10)->size(), 10U);
  EXPECT_EQ(ExecThrottled(*client_, *connection_, {}, sql, 11, 900)->size(), 890U);
  const auto checks = headgate_.checks();
  EXPECT_EQ(checks.at(0).pattern, checks.at(1).pattern);
  EXPECT_LT(checks.at(0).estimated_cost, checks.at(1).estimated_cost);
}

TEST_F(PqxxTest, UsesTheCallersPatternWhereThereAreNoIdentifiers) {
  pqxx::nontransaction(*connection_).exec("SET compute_query_id = off");
  ASSERT_TRUE(ExecThrottled(*client_, *connection_, {.pattern = "copy-orders"}, "SELECT 1").ok());
  EXPECT_EQ(headgate_.checks().at(0).pattern, "copy-orders");
}

TEST_F(PqxxTest, ReportsForHowLongTheStatementWasBusyAndNoCost) {
  ClientOptions options = Options();
  options.time = NewRealTime();
  client_ = NewClient(headgate_, options);
  ASSERT_TRUE(ExecThrottled(*client_, *connection_, {}, "SELECT pg_sleep(0.05)").ok());
  ASSERT_TRUE(Flushed(*client_));
  ASSERT_THAT(headgate_.reports(), SizeIs(1));
  EXPECT_GE(headgate_.reports()[0].done.busy_time, absl::Milliseconds(50));
  EXPECT_EQ(headgate_.reports()[0].done.actual_cost, std::nullopt);
}

TEST_F(PqxxTest, ReportsTheCostThatItIsToldToRead) {
  ThrottleOptions options;
  options.actual_cost = [](const pqxx::result& rows) { return static_cast<double>(rows.size()); };
  const auto rows =
      ExecThrottled(*client_, *connection_, options, "SELECT * FROM generate_series(1, 7)");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_TRUE(Flushed(*client_));
  ASSERT_THAT(headgate_.reports(), SizeIs(1));
  EXPECT_EQ(headgate_.reports()[0].done.actual_cost, 7);
}

TEST_F(PqxxTest, HasNoTransactionOpenWhileItWaits) {
  std::string state;
  headgate_.SetHandler([&](const CheckRequest&) {
    const auto rows = cluster_->primary().RunSql(
        "SELECT count(*) FROM pg_stat_activity WHERE xact_start IS NOT NULL AND "
        "backend_type = 'client backend' AND pid <> pg_backend_pid()");
    state = rows.ok() ? (*rows)[0][0] : rows.status().ToString();
    return Answer{.verdict = Verdict::kAllowed};
  });
  ASSERT_TRUE(ExecThrottled(*client_, *connection_, {}, "SELECT * FROM orders").ok());
  EXPECT_EQ(state, "0");
}

TEST_F(PqxxTest, CommitsItsWork) {
  ASSERT_TRUE(
      ExecThrottled(*client_, *connection_, {}, "INSERT INTO orders VALUES ($1, $2)", 5000, "new")
          .ok());
  EXPECT_EQ(Count(), "1001");
  ASSERT_TRUE(
      ExecThrottled(*client_, *connection_, {}, "DELETE FROM orders WHERE id = $1", 5000).ok());
  EXPECT_EQ(Count(), "1000");
}

TEST_F(PqxxTest, RunsNothingWhereHeadgateDenies) {
  headgate_.DenyForGood();
  const auto result = ExecThrottled(*client_, *connection_, {}, "DELETE FROM orders");
  EXPECT_TRUE(absl::IsFailedPrecondition(result.status())) << result.status();
  EXPECT_EQ(Count(), "1000");
}

TEST_F(PqxxTest, RefusesSeveralStatementsAndRunsNoneOfThem) {
  for (const char* const sql : {"SELECT 1; DELETE FROM orders", "; DELETE FROM orders",
                                "SELECT 1; COMMIT; DELETE FROM orders"}) {
    const auto result = ExecThrottled(*client_, *connection_, {}, sql);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
  }
  EXPECT_EQ(Count(), "1000");
  EXPECT_THAT(headgate_.checks(), IsEmpty());
}

TEST_F(PqxxTest, NeverRunsAStatementByExplainingIt) {
  for (const char* const sql : {"ANALYZE DELETE FROM orders", "(ANALYZE) DELETE FROM orders",
                                "EXPLAIN ANALYZE DELETE FROM orders"}) {
    EXPECT_FALSE(ExecThrottled(*client_, *connection_, {}, sql).ok()) << sql;
  }
  EXPECT_EQ(Count(), "1000");
}

TEST_F(PqxxTest, RefusesWhatHasNoPlan) {
  for (const char* const sql : {"VACUUM orders", "no SQL at all", "", "SELECT * FROM nowhere"}) {
    const auto result = ExecThrottled(*client_, *connection_, {}, sql);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << sql << ": " << result.status();
  }
}

TEST_F(PqxxTest, ReportsAStatementThatFailed) {
  const auto result =
      ExecThrottled(*client_, *connection_, {}, "INSERT INTO orders VALUES (1, 'again')");
  EXPECT_TRUE(absl::IsFailedPrecondition(result.status())) << result.status();
  EXPECT_THAT(result.status().ToString(), HasSubstr("SQLSTATE 23505"));
  ASSERT_TRUE(Flushed(*client_));
  EXPECT_THAT(headgate_.reports(), SizeIs(1));
  EXPECT_TRUE(ExecThrottled(*client_, *connection_, {}, "SELECT 1").ok());
}

TEST_F(PqxxTest, RefusesAConnectionWithATransactionOpen) {
  const pqxx::work open(*connection_);
  const auto result = ExecThrottled(*client_, *connection_, {}, "SELECT 1");
  EXPECT_TRUE(absl::IsFailedPrecondition(result.status())) << result.status();
}

TEST_F(PqxxTest, ExplainsInTheCallersTransaction) {
  pqxx::work transaction(*connection_);
  transaction.exec("CREATE TEMPORARY TABLE mine (i int)");
  const auto plan = Explain(transaction, "SELECT * FROM mine WHERE i = $1", 7);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(plan->total_cost, 0);
}

TEST_F(PqxxTest, IsUnavailableWhenTheConnectionIsLost) {
  headgate_.SetHandler([&](const CheckRequest&) {
    const std::string others =
        "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    EXPECT_TRUE(cluster_->primary().RunSql("SELECT pg_terminate_backend(pid) " + others).ok());
    EXPECT_TRUE(WaitUntil([&] {
      const auto rows = cluster_->primary().RunSql("SELECT count(*) " + others);
      return rows.ok() && (*rows)[0][0] == "0";
    }));
    return Answer{.verdict = Verdict::kAllowed};
  });
  const auto result = ExecThrottled(*client_, *connection_, {}, "SELECT 1");
  EXPECT_TRUE(absl::IsUnavailable(result.status())) << result.status();
}

}  // namespace
}  // namespace headgate::client
