// Transactions of the store: what is tried again, what is refused, and what becomes of them when
// the store is away.

#include "server/share/store/transactor.h"

#include <memory>
#include <pqxx/result>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/share/store/store_database.h"
#include "tests/testing/wait_until.h"

namespace headgate::store {
namespace {

using testing::HasSubstr;

class TransactorTest : public testing::Test {
 protected:
  static constexpr absl::Duration kSoon = absl::Milliseconds(500);
  static PostgresServer& server() { return StoreDatabase::server(); }

  void TearDown() override { server().Resume(); }

  absl::Status Run(Transactor& transactor, const std::string& sql, absl::Duration timeout = kLong) {
    return transactor.Run(Scope::kTransaction, timeout,
                          [&](pqxx::transaction_base& work) { work.exec(sql); });
  }
  absl::Status Run(const std::string& sql) { return Run(transactor_, sql); }
  bool HasOneThatWaits() {
    return database_.RunSql("SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0] == "1";
  }
  double Seconds() { return static_cast<double>(clock_.Read().monotonic_ns) / 1e9; }

  SystemClock clock_;
  StoreDatabase database_;
  Transactor transactor_{database_.Options(), clock_};
};

TEST_F(TransactorTest, ATransactionIsWholeOrNotAtAll) {
  EXPECT_FALSE(Run("INSERT INTO headgate_store.member VALUES ('a', 1, '', 1, 1, now(), false);"
                   "INSERT INTO headgate_store.member VALUES ('a', 1, '', 1, 1, now(), false)")
                   .ok());
  EXPECT_THAT(database_.RunSql("SELECT count(*) FROM headgate_store.member")[0][0], "0");
  EXPECT_TRUE(
      Run("INSERT INTO headgate_store.member VALUES ('a', 1, '', 1, 1, now(), false)").ok());
}

TEST_F(TransactorTest, ASerializationFailureIsTriedAgainFromItsBeginning) {
  for (const char* const state : {"40001", "40P01"}) {
    int tries = 0;
    const absl::Status status =
        transactor_.Run(Scope::kTransaction, kLong, [&](pqxx::transaction_base& work) {
          work.exec(absl::StrCat("INSERT INTO headgate_store.member VALUES ('", state,
                                 "', 1, '', 1, 1, now(), false)"));
          if (++tries == 1) {
            work.exec(
                absl::StrCat("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '", state, "'; END $$"));
          }
        });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(tries, 2);
  }
  EXPECT_EQ(transactor_.rolled_back(), 2);
  EXPECT_THAT(database_.RunSql("SELECT count(*) FROM headgate_store.member")[0][0], "2");
}

// Two lock two rows in opposite order: the server ends one of them with 40P01.
TEST_F(TransactorTest, ARealDeadlockIsTriedAgain) {
  ASSERT_TRUE(Run("INSERT INTO headgate_store.member VALUES ('a', 1, '', 1, 1, now(), false), "
                  "('b', 1, '', 1, 1, now(), false)")
                  .ok());
  auto other = server().Open(database_.name());
  ASSERT_TRUE(other.ok()) << other.status();
  const auto lock = [](const std::string& id) {
    return absl::StrCat("SELECT FROM headgate_store.member WHERE name = '", id, "' FOR UPDATE");
  };
  // The one whose deadlock_timeout ends first is the one that is rolled back.
  ASSERT_TRUE(other->Run("SET deadlock_timeout = '1min'").ok());
  ASSERT_TRUE(other->Run("BEGIN").ok());
  ASSERT_TRUE(other->Run(lock("b")).ok());
  int tries = 0;
  const absl::Status status =
      transactor_.Run(Scope::kTransaction, kLong, [&](pqxx::transaction_base& work) {
        ++tries;
        if (tries == 2) {  // the other one waits for nothing any more
          EXPECT_TRUE(other->Finish().ok());
          EXPECT_TRUE(other->Run("COMMIT").ok());
        }
        work.exec("SET LOCAL deadlock_timeout = '10ms'");
        work.exec(lock("a"));
        if (tries == 1) {
          EXPECT_TRUE(other->Start(lock("a")).ok());
          // Who waits looks for a deadlock once: the other one has to be in it by then.
          EXPECT_TRUE(WaitUntil([&] { return HasOneThatWaits(); }));
        }
        work.exec(lock("b"));
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(tries, 2);
}

TEST_F(TransactorTest, AStoreThatHangsEndsByTheTimeoutAndIsFoundAgain) {
  ASSERT_TRUE(Run("SELECT 1").ok());
  server().Suspend();
  const double began = Seconds();
  const absl::Status status = Run(transactor_, "SELECT 1", kSoon);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  // A busy machine may take seconds beyond it, which are few beside any other deadline.
  EXPECT_LT(Seconds() - began, absl::ToDoubleSeconds(kLong) / 2);
  server().Resume();
  EXPECT_TRUE(Run("SELECT 1").ok());
}

TEST_F(TransactorTest, AStoreThatWasKilledIsFoundAgain) {
  ASSERT_TRUE(Run("SELECT 1").ok());
  server().Kill();
  const absl::Status status = Run("SELECT 1");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::IsUnavailable(Run("SELECT 1")));
  ASSERT_TRUE(server().Start().ok());
  EXPECT_TRUE(Run("SELECT 1").ok());
}

// An order that an operator gives after a failover is not to be the one that finds out.
TEST_F(TransactorTest, AStoreThatWasRestartedSinceTheLastCallIsAskedAnew) {
  ASSERT_TRUE(Run("SELECT 1").ok());
  server().Kill();
  ASSERT_TRUE(server().Start().ok());
  const absl::Status status = Run("SELECT 1");
  EXPECT_TRUE(status.ok()) << status;
}

// As a primary that has become a standby: the next session may find another server.
TEST_F(TransactorTest, AReadOnlyStoreIsAnErrorAndIsConnectedToAnew) {
  const std::string insert =
      "INSERT INTO headgate_store.member VALUES ('a', 1, '', 1, 1, now(), false)";
  database_.RunSql(
      absl::StrCat("ALTER DATABASE ", database_.name(), " SET default_transaction_read_only = on"));
  const absl::Status status = Run(insert);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("read-only"));
  database_.RunSql(absl::StrCat("BEGIN READ WRITE; ALTER DATABASE ", database_.name(),
                                " RESET default_transaction_read_only; COMMIT"));
  EXPECT_TRUE(Run(insert).ok());
}

TEST_F(TransactorTest, AStoreWithoutConnectionsIsUnavailable) {
  database_.CreateServerRole("counted");
  std::vector<SqlSession> sessions;
  for (;;) {
    absl::StatusOr<SqlSession> session = SqlSession::Open(database_.Dsn("counted"));
    if (!session.ok()) break;
    sessions.push_back(*std::move(session));
    ASSERT_LT(sessions.size(), 100U);
  }
  TransactorOptions options = database_.Options();
  options.dsn = [this] { return database_.Dsn("counted"); };
  Transactor transactor(options, clock_);
  const absl::Status status = Run(transactor, "SELECT 1");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  sessions.clear();
  absl::Status later = status;
  for (int i = 0; i < 1000 && !later.ok(); ++i) later = Run(transactor, "SELECT 1");
  EXPECT_TRUE(later.ok()) << later;
}

TEST_F(TransactorTest, ASchemaThatIsNotKnownIsRefused) {
  database_.RunSql("UPDATE headgate_store.version SET version = 99, works_with = 99");
  const absl::Status status = Run("SELECT 1");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("for a newer Headgate"));
}

TEST_F(TransactorTest, ADatabaseThatIsNotAcceptedIsNotAskedAnything) {
  TransactorOptions options = database_.Options();
  options.accept = [](const DatabaseIdentity& database) {
    return absl::FailedPreconditionError(absl::StrCat("not ", database.database));
  };
  Transactor transactor(options, clock_);
  const absl::Status status = Run(transactor, "DROP SCHEMA headgate_store CASCADE");
  EXPECT_EQ(status.message(), absl::StrCat("not ", database_.name()));
  EXPECT_TRUE(Run("SELECT FROM headgate_store.member").ok());
}

TEST_F(TransactorTest, OnceCancelledItAsksNothingMore) {
  ASSERT_TRUE(Run("SELECT 1").ok());
  transactor_.Cancel();
  EXPECT_TRUE(absl::IsCancelled(Run("DROP SCHEMA headgate_store CASCADE")));
}

}  // namespace
}  // namespace headgate::store
