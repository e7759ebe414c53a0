#include "server/remember/sqlite/database.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/testing/temp_folder.h"

namespace headgate::sqlite {
namespace {

using testing::HasSubstr;

class DatabaseTest : public testing::Test {
 protected:
  Database OpenOrDie(const OpenOptions& options = {}) {
    absl::StatusOr<Database> database = Database::Open(path_, options);
    EXPECT_TRUE(database.ok()) << database.status();
    return *std::move(database);
  }
  absl::Status OpenStatus() { return Database::Open(path_, {}).status(); }

  TempFolder folder_;
  const std::string path_ = folder_.File("a.db");
};

int64_t CountOf(Database& database) { return database.QueryInt("SELECT count(*) FROM t").value(); }

TEST_F(DatabaseTest, WhatIsBoundComesBack) {
  Database database = OpenOrDie();
  ASSERT_TRUE(database.Run("CREATE TABLE t (a, b, c, d)").ok());
  const std::string text("x\0y", 3);
  Statement insert = database.Prepare("INSERT INTO t VALUES (?, ?, ?, ?)").value();
  ASSERT_TRUE(insert.Run(int64_t{-5'000'000'000}, 0.1, text, std::string_view()).ok());
  EXPECT_EQ(database.changes(), 1);
  Statement query = database.Prepare("SELECT a, b, c, d, NULL FROM t").value();
  ASSERT_TRUE(query.Step().value());
  EXPECT_EQ(query.Int(0), -5'000'000'000);
  EXPECT_EQ(query.Double(1), 0.1);
  EXPECT_EQ(query.Text(2), text);
  EXPECT_EQ(query.Text(3), "");
  EXPECT_FALSE(query.IsNull(3));
  EXPECT_TRUE(query.IsNull(4));
  EXPECT_FALSE(query.Step().value());
}

TEST_F(DatabaseTest, AStatementRunsAgain) {
  Database database = OpenOrDie();
  ASSERT_TRUE(database.Run("CREATE TABLE t (a PRIMARY KEY)").ok());
  Statement insert = database.Prepare("INSERT INTO t VALUES (?)").value();
  EXPECT_TRUE(insert.Run(1).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(insert.Run(1)));
  EXPECT_TRUE(insert.Run(2).ok());
  EXPECT_EQ(CountOf(database), 2);
}

TEST_F(DatabaseTest, ABindThatFailsIsToldByStep) {
  Database database = OpenOrDie();
  Statement query = database.Prepare("SELECT ?").value();
  query.Bind(2, 1);
  EXPECT_TRUE(absl::IsInternal(query.Step().status()));
  query.BindAll(1);
  EXPECT_TRUE(query.Step().value());
}

TEST_F(DatabaseTest, ATransactionThatIsNotCommittedLeavesNothing) {
  Database database = OpenOrDie();
  ASSERT_TRUE(database.Run("CREATE TABLE t (a)").ok());
  {
    absl::StatusOr<Transaction> transaction = Transaction::Begin(database);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(database.Run("INSERT INTO t VALUES (1)").ok());
  }
  EXPECT_EQ(CountOf(database), 0);
  absl::StatusOr<Transaction> transaction = Transaction::Begin(database);
  ASSERT_TRUE(database.Run("INSERT INTO t VALUES (1)").ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(CountOf(database), 1);
}

TEST_F(DatabaseTest, AReaderSeesWhatWasCommittedWhenItBegan) {
  Database writer = OpenOrDie();
  ASSERT_TRUE(writer.Run("CREATE TABLE t (a); INSERT INTO t VALUES (1)").ok());
  Database reader = OpenOrDie({.access = Access::kRead});
  {
    absl::StatusOr<Transaction> reading = Transaction::Begin(reader, Access::kRead);
    EXPECT_EQ(CountOf(reader), 1);
    ASSERT_TRUE(writer.Run("INSERT INTO t VALUES (2)").ok());
    EXPECT_EQ(CountOf(reader), 1);
  }
  EXPECT_EQ(CountOf(reader), 2);
  EXPECT_TRUE(absl::IsPermissionDenied(reader.Run("INSERT INTO t VALUES (3)")));
}

TEST_F(DatabaseTest, ASecondWriterIsToldWhoHasTheFile) {
  auto first = std::make_unique<Database>(OpenOrDie());
  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr(path_), HasSubstr("used by another headgated")));
  first.reset();
  EXPECT_TRUE(OpenStatus().ok());
}

TEST_F(DatabaseTest, AnotherProcessIsAWriterToo) {
  Database first = OpenOrDie();
  const pid_t child = fork();
  if (child == 0) _exit(absl::IsAlreadyExists(OpenStatus()) ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(DatabaseTest, ItsFilesAreForItsUserAlone) {
  Database database = OpenOrDie();
  ASSERT_TRUE(database.Run("CREATE TABLE t (a)").ok());
  for (const char* name : {"a.db", "a.db-wal", "a.db-shm", "a.db.lock"}) {
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(folder_.File(name)).permissions(),
              perms::owner_read | perms::owner_write)
        << name;
  }
}

TEST_F(DatabaseTest, WhatIsNoDatabaseIsDataLoss) {
  std::ofstream(path_) << std::string(5000, 'x');
  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr(path_), HasSubstr("no SQLite database")));
}

TEST_F(DatabaseTest, AFolderThatIsMissingIsNotFound) {
  const absl::Status status = Database::Open(folder_.File("none/a.db"), {}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("see that its folder exists"));
}

TEST_F(DatabaseTest, AFileThatMayGrowNoMoreIsResourceExhausted) {
  Database database = OpenOrDie();
  ASSERT_TRUE(database.Run("CREATE TABLE t (a); PRAGMA max_page_count = 10").ok());
  Statement insert = database.Prepare("INSERT INTO t VALUES (?)").value();
  const absl::Status status = insert.Run(std::string(100'000, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("make room on its disk"));
  EXPECT_TRUE(insert.Run("x").ok());
}

TEST_F(DatabaseTest, InMemoryEachIsItsOwn) {
  Database one = Database::Open(":memory:", {}).value();
  Database two = Database::Open(":memory:", {}).value();
  ASSERT_TRUE(one.Run("CREATE TABLE t (a)").ok());
  EXPECT_TRUE(two.Run("CREATE TABLE t (a)").ok());
  EXPECT_FALSE(std::filesystem::exists(":memory:.lock"));
}

TEST_F(DatabaseTest, StatementsOutliveAMoveOfTheirDatabase) {
  Database first = OpenOrDie();
  Statement query = first.Prepare("SELECT 7").value();
  const Database second = std::move(first);
  EXPECT_TRUE(query.Step().value());
  EXPECT_EQ(query.Int(0), 7);
}

}  // namespace
}  // namespace headgate::sqlite
