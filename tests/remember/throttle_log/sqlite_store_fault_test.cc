// What goes wrong with the throttle log's file, done to a real one.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/remember/sqlite/database.h"
#include "server/remember/throttle_log/sqlite_store.h"
#include "tests/testing/log_store_contract.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::throttle_log {
namespace {

using testing::HasSubstr;

constexpr absl::Time kNow = absl::FromUnixSeconds(kLogBegin + 3600);

std::unique_ptr<SqliteStore> OpenOrDie(const std::string& path, const Retention& retention = {}) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path, retention);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// One step of so many identities, with one Check each.
std::vector<Row> Batch(int64_t step, int identities) {
  std::vector<Row> rows;
  for (int i = 0; i < identities; ++i) {
    rows.push_back(AllowedRow(kLogBegin + step * 10, absl::StrCat("identity-", i, ":batch"), 1));
  }
  return rows;
}

class SqliteStoreFault : public testing::Test {
 protected:
  // Overwrites what is there from `offset` on.
  void Overwrite(int64_t offset, const std::string& bytes) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << bytes;
    ASSERT_TRUE(file.good());
  }
  void FillAndClose(int steps = 50) const {
    const std::unique_ptr<SqliteStore> store = OpenOrDie(path_);
    for (int step = 0; step < steps; ++step) {
      ASSERT_TRUE(store->Append(Batch(step, 100), step + 1).ok());
    }
  }
  SqliteStore::Opened OpenAnyway() const { return SqliteStore::OpenAnyway(path_, {}, kNow); }
  std::string AsideName() const { return absl::StrCat(path_, ".corrupt-", kLogBegin + 3600); }
  void ExpectSetAside() const {
    const SqliteStore::Opened opened = OpenAnyway();
    EXPECT_EQ(opened.set_aside, AsideName());
    EXPECT_TRUE(absl::IsDataLoss(opened.why)) << opened.why;
    EXPECT_TRUE(std::filesystem::exists(AsideName()));
    EXPECT_TRUE(opened.store->Append(Batch(0, 1), 1).ok());
    EXPECT_EQ(ChecksIn(*opened.store), 1);
  }

  TempFolder folder_;
  const std::string path_ = folder_.File("log.db");
};

TEST_F(SqliteStoreFault, AFileInOrderIsNotSetAside) {
  FillAndClose(1);
  const SqliteStore::Opened opened = OpenAnyway();
  EXPECT_EQ(opened.set_aside, "");
  EXPECT_TRUE(opened.why.ok());
  EXPECT_EQ(ChecksIn(*opened.store), 100);
}

TEST_F(SqliteStoreFault, AFileThatIsNoDatabaseIsSetAside) {
  std::ofstream(path_) << std::string(10'000, 'x');
  EXPECT_TRUE(absl::IsDataLoss(SqliteStore::Open(path_, {}).status()));
  ExpectSetAside();
}

TEST_F(SqliteStoreFault, ADatabaseOfAnotherProgramIsSetAside) {
  ASSERT_TRUE(sqlite::Database::Open(path_, {})->Run("CREATE TABLE mine (a)").ok());
  ExpectSetAside();
}

TEST_F(SqliteStoreFault, ATruncatedFileIsSetAside) {
  FillAndClose();
  std::filesystem::resize_file(path_, 6000);
  ExpectSetAside();
}

TEST_F(SqliteStoreFault, AFileWhoseFirstPagesAreOverwrittenIsSetAside) {
  FillAndClose();
  Overwrite(100, std::string(40'000, '\xff'));
  ExpectSetAside();
}

// Version 1 knew no servers, and neither it nor version 2 knew waits.
TEST_F(SqliteStoreFault, AnOlderVersionIsBroughtUpToDate) {
  FillAndClose(1);
  ASSERT_TRUE(sqlite::Database::Open(path_, {})
                  ->Run("CREATE TABLE old (id INTEGER PRIMARY KEY, path TEXT NOT NULL,"
                        " target TEXT NOT NULL, folded INTEGER NOT NULL, seen INTEGER NOT NULL,"
                        " UNIQUE (path, target, folded));"
                        "INSERT INTO old SELECT id, path, target, folded, seen FROM whos;"
                        "DROP TABLE whos; ALTER TABLE old RENAME TO whos;"
                        "ALTER TABLE fine DROP COLUMN waits; ALTER TABLE coarse DROP COLUMN waits;"
                        "PRAGMA user_version = 1")
                  .ok());
  const std::unique_ptr<SqliteStore> store = OpenOrDie(path_);
  const int64_t before = ChecksIn(*store);
  EXPECT_GT(before, 0);
  Row row = AllowedRow(kLogBegin, "a", 100);
  row.key.server = "headgate-1";
  const Row waited = WaitedRow(kLogBegin, "a", "lag", {.began = 2, .waited_ns = 5'000'000});
  ASSERT_TRUE(store->Append(std::vector<Row>{row, waited}, 1).ok());
  EXPECT_EQ(ChecksIn(*store), before + 100);
  EXPECT_THAT(ScanAll(*store, Everything()), testing::Contains(waited));
}

TEST_F(SqliteStoreFault, ANewerVersionIsLeftAloneAndSaidSo) {
  FillAndClose(1);
  ASSERT_TRUE(sqlite::Database::Open(path_, {})->Run("PRAGMA user_version = 4").ok());
  const absl::Status status = OpenAnyway().why;
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer Headgate"));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

// Damage in the middle shows when it is met, which is after Open.
TEST_F(SqliteStoreFault, DamageThatAppendMeetsIsSetAsideByMaintain) {
  FillAndClose();
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path_));
  Overwrite(40'960, std::string(static_cast<size_t>(bytes - 40'960), '\xff'));
  const std::unique_ptr<SqliteStore> store = OpenOrDie(path_);
  const absl::Status status = store->Append(Batch(51, 100), 1);
  ASSERT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  EXPECT_EQ(store->State().status, status);
  EXPECT_TRUE(absl::IsDataLoss(store->Scan(Everything(), [](const Row&) { return true; })));

  EXPECT_TRUE(store->Maintain(kNow).ok());
  EXPECT_TRUE(std::filesystem::exists(AsideName()));
  EXPECT_EQ(store->State().set_aside, AsideName());
  EXPECT_TRUE(store->Append(Batch(51, 100), 1).ok());
  EXPECT_EQ(ChecksIn(*store), 100);
  EXPECT_TRUE(store->State().status.ok());
}

TEST_F(SqliteStoreFault, DamageThatScanMeetsIsSetAsideByMaintain) {
  FillAndClose();
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path_));
  Overwrite(40'960, std::string(static_cast<size_t>(bytes - 40'960), '\xff'));
  const std::unique_ptr<SqliteStore> store = OpenOrDie(path_);
  const absl::Status status = store->Scan(Everything(), [](const Row&) { return true; });
  ASSERT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(store->State().status, status);
  EXPECT_EQ(store->Append(Batch(51, 100), 1), status);

  EXPECT_TRUE(store->Maintain(kNow).ok());
  EXPECT_TRUE(std::filesystem::exists(AsideName()));
  EXPECT_TRUE(store->Append(Batch(51, 100), 1).ok());
  EXPECT_EQ(ChecksIn(*store), 100);
  EXPECT_TRUE(store->State().status.ok());
}

TEST_F(SqliteStoreFault, AFolderThatIsMissingIsNotFound) {
  const absl::Status status = SqliteStore::Open(folder_.File("none/log.db"), {}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST_F(SqliteStoreFault, AFolderThatMayNotBeWrittenIsPermissionDenied) {
  const SmallDisk disk(folder_.File("disk"));
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  disk.MakeReadOnly();
  const absl::Status status = SqliteStore::Open(disk.File("log.db"), {}).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("can be written"));
}

TEST_F(SqliteStoreFault, ASecondHeadgatedIsTurnedAway) {
  const std::unique_ptr<SqliteStore> first = OpenOrDie(path_);
  const SqliteStore::Opened second = OpenAnyway();
  const absl::Status status = second.store->Append(Batch(0, 1), 1);
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_EQ(second.store->State().status, status);
  EXPECT_THAT(std::string(status.message()), HasSubstr("used by another headgated"));
}

TEST_F(SqliteStoreFault, AFullDiskIsToldAndNothingIsLostOrCountedTwice) {
  const SmallDisk disk(folder_.File("disk"));
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  const std::unique_ptr<SqliteStore> store = OpenOrDie(disk.File("log.db"));
  ASSERT_TRUE(store->Append(Batch(0, 1000), 1).ok());
  disk.Fill();
  int64_t batch = 1;
  absl::Status status;
  while (status.ok() && batch < 1000)
    status = store->Append(Batch(batch, 1000), batch + 1), ++batch;
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("make room on its disk"));
  EXPECT_EQ(store->State().status, status);
  EXPECT_EQ(ChecksIn(*store), (batch - 1) * 1000);

  disk.MakeRoom();
  EXPECT_TRUE(store->Append(Batch(batch - 1, 1000), batch).ok());
  EXPECT_TRUE(store->State().status.ok());
  EXPECT_EQ(ChecksIn(*store), batch * 1000);
}

TEST_F(SqliteStoreFault, AStoreThatCannotBeOpenedIsOpenedByAppendOnceItCan) {
  const SmallDisk disk(folder_.File("disk"));
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  disk.Fill();
  const SqliteStore::Opened opened = SqliteStore::OpenAnyway(disk.File("log.db"), {}, kNow);
  EXPECT_FALSE(opened.why.ok());
  EXPECT_EQ(opened.set_aside, "");
  SqliteStore& store = *opened.store;
  EXPECT_EQ(store.Append(Batch(0, 1), 1), opened.why);
  EXPECT_EQ(store.State().status, opened.why);
  EXPECT_EQ(store.Maintain(kNow), opened.why);
  EXPECT_FALSE(store.Scan(Everything(), [](const Row&) { return true; }).ok());

  disk.MakeRoom();
  EXPECT_TRUE(store.Append(Batch(0, 1), 1).ok());
  EXPECT_EQ(ChecksIn(store), 1);
  EXPECT_TRUE(store.State().status.ok());
}

TEST_F(SqliteStoreFault, AProcessKilledWhileItAppendsLeavesWholeBatches) {
  constexpr int kRows = 500;
  int64_t last = 0;
  for (int round = 0; round < 10; ++round) {
    int appended[2];
    ASSERT_EQ(pipe2(appended, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      const std::unique_ptr<SqliteStore> store = OpenOrDie(path_);
      for (int64_t batch = 1;; ++batch) {
        if (!store->Append(Batch(batch % 8000, kRows), batch).ok()) _exit(1);
        if (batch == 1 && write(appended[1], "1", 1) != 1) _exit(1);
      }
    }
    // After its first batch, at another place in each round.
    close(appended[1]);
    char first = 0;
    EXPECT_EQ(read(appended[0], &first, 1), 1);
    close(appended[0]);
    WaitUntil([] { return false; }, absl::Milliseconds(13 * round));
    kill(child, SIGKILL);
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    ASSERT_TRUE(WIFSIGNALED(ended));
    const std::unique_ptr<SqliteStore> store = OpenOrDie(path_);
    const int64_t checks = ChecksIn(*store);
    EXPECT_EQ(checks % kRows, 0);
    EXPECT_GE(checks, last + kRows);
    last = checks;
  }
}

}  // namespace
}  // namespace headgate::throttle_log
