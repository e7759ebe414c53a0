// What only the SQLite store promises.

#include "server/remember/throttle_log/sqlite_store.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/remember/sqlite/database.h"
#include "tests/testing/log_store_contract.h"
#include "tests/testing/temp_folder.h"

namespace headgate::throttle_log {
namespace {

class SqliteStoreTest : public testing::Test {
 protected:
  void Open(const Retention& retention = {}) {
    store_ = nullptr;
    absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path_, retention);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  void Append(const std::vector<Row>& rows) {
    const absl::Status status = store_->Append(rows, ++batch_);
    ASSERT_TRUE(status.ok()) << status;
  }
  int64_t Query(const std::string& sql) const {
    return sqlite::Database::Open(path_, {.access = sqlite::Access::kRead})->QueryInt(sql).value();
  }

  TempFolder folder_;
  const std::string path_ = folder_.File("log.db");
  std::unique_ptr<SqliteStore> store_;
  int64_t batch_ = 0;
};

TEST_F(SqliteStoreTest, RowsAreCountedThroughEverythingThatChangesThem) {
  Open({.coarsen_after = absl::Hours(1), .keep_for = absl::Hours(48)});
  const std::string count = "SELECT (SELECT count(*) FROM fine) + (SELECT count(*) FROM coarse)";
  std::vector<Row> rows;
  for (int i = 0; i < 1000; ++i) {
    rows.push_back(AllowedRow(kLogBegin + i % 100 * 10, absl::StrCat("i", i / 100), 1));
  }
  Append(rows);
  Append(rows);
  EXPECT_EQ(store_->State().rows, 1000);
  ASSERT_TRUE(store_->Maintain(absl::FromUnixSeconds(kLogBegin + 86'400)).ok());
  EXPECT_EQ(store_->State().rows, 40);
  EXPECT_EQ(store_->State().rows, Query(count));
  ASSERT_TRUE(store_->Maintain(absl::FromUnixSeconds(kLogBegin + 4 * 86'400)).ok());
  EXPECT_EQ(store_->State().rows, 0);
  EXPECT_EQ(Query(count), 0);
}

TEST_F(SqliteStoreTest, NamesGoWithTheirLastRow) {
  Open();
  Append({AllowedRow(kLogBegin, "old", 1), DeniedRow(kLogBegin, "old", 1, "lag", 1, 1)});
  const int64_t later_s = kLogBegin + 40 * 86'400;
  Append({AllowedRow(later_s, "new", 1)});
  ASSERT_TRUE(store_->Maintain(absl::FromUnixSeconds(later_s)).ok());
  EXPECT_EQ(Query("SELECT count(*) FROM whos"), 1);
  EXPECT_EQ(Query("SELECT count(*) FROM whats"), 1);
  Append({AllowedRow(later_s, "old", 1)});  // not under the number that it had
  EXPECT_EQ(ChecksIn(*store_), 2);
}

TEST_F(SqliteStoreTest, ANameThatIsStillCountedStays) {
  Open();
  for (int day = 0; day < 60; day += 10) {
    Append({AllowedRow(kLogBegin + day * 86'400, "a", 1)});
    ASSERT_TRUE(store_->Maintain(absl::FromUnixSeconds(kLogBegin + day * 86'400)).ok());
  }
  EXPECT_EQ(ChecksIn(*store_), 4);
}

TEST_F(SqliteStoreTest, MaintenanceOfMuchIsDoneInPartsAndSumsStayTheSameMeanwhile) {
  Open({.coarsen_after = absl::Hours(1)});
  std::vector<Row> rows;
  for (int i = 0; i < 400'000; ++i) {
    rows.push_back(AllowedRow(kLogBegin + i % 40 * 10, absl::StrCat("i", i / 40), 1));
  }
  Append(rows);
  const absl::Time now = absl::FromUnixSeconds(kLogBegin + 86'400);
  int parts = 0;
  for (int64_t before = -1; store_->State().rows != before; ++parts) {
    before = store_->State().rows;
    ASSERT_TRUE(store_->Maintain(now).ok());
    EXPECT_EQ(ChecksIn(*store_), 400'000);
  }
  EXPECT_GT(parts, 2);
  EXPECT_EQ(store_->State().rows, 20'000);
}

TEST_F(SqliteStoreTest, AScanSeesWholeBatchesWhileTheWriterGoesOn) {
  Open();
  constexpr int kRows = 200;
  std::vector<Row> rows;
  for (int i = 0; i < kRows; ++i) rows.push_back(AllowedRow(kLogBegin + i * 10, "a", 1));
  std::atomic<bool> done = false;
  std::thread scanning([&] {
    // Relaxed: nothing else depends on it.
    while (!done.load(std::memory_order_relaxed)) EXPECT_EQ(ChecksIn(*store_) % kRows, 0);
  });
  for (int i = 0; i < 50; ++i) Append(rows);
  done.store(true, std::memory_order_relaxed);
  scanning.join();
  EXPECT_EQ(ChecksIn(*store_), 50 * kRows);
}

TEST_F(SqliteStoreTest, StepsThatDoNotDivideABlockComeBack) {
  Open({.step = absl::Seconds(7), .coarse_step = absl::Seconds(70)});
  std::vector<Row> rows;
  const int64_t first = (kLogBegin + 6) / 7 * 7;
  for (int i = 0; i < 1000; ++i) {
    Row row = AllowedRow(first + i * 7, "a", 1);
    row.length_s = 7;
    rows.push_back(row);
  }
  Append(rows);
  EXPECT_THAT(ScanAll(*store_, Everything()), testing::ElementsAreArray(rows));
  ASSERT_TRUE(store_->Maintain(absl::FromUnixSeconds(kLogBegin + 3 * 86'400)).ok());
  EXPECT_EQ(ChecksIn(*store_), 1000);
  for (const Row& row : ScanAll(*store_, Everything())) EXPECT_EQ(row.step_s % 70, 0);
}

TEST_F(SqliteStoreTest, AConfigurationWithOtherStepsGoesOnWithTheFile) {
  Open();
  Append({AllowedRow(kLogBegin, "a", 1)});
  Open({.step = absl::Minutes(30), .coarse_step = absl::Hours(2)});
  Row longer = AllowedRow(kLogBegin, "a", 2);
  longer.length_s = 1800;
  Append({longer});
  EXPECT_EQ(ChecksIn(*store_), 3);
  ASSERT_TRUE(store_->Maintain(absl::FromUnixSeconds(kLogBegin + 3 * 86'400)).ok());
  EXPECT_THAT(ScanAll(*store_, Everything()),
              testing::ElementsAre(Coarse(AllowedRow(kLogBegin, "a", 3), 7200)));
}

TEST_F(SqliteStoreTest, InMemoryThereIsNoFile) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(":memory:", {});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Append(std::vector<Row>{AllowedRow(kLogBegin, "a", 1)}, 1).ok());
  EXPECT_EQ(ChecksIn(**store), 1);
  EXPECT_GT((*store)->State().bytes, 0);
  EXPECT_TRUE((*store)->Maintain(absl::FromUnixSeconds(kLogBegin)).ok());
  EXPECT_FALSE(std::filesystem::exists(":memory:"));
}

// A replay goes through rows for long, and counts come meanwhile.
TEST_F(SqliteStoreTest, InMemoryAScanHoldsUpNoBatchAndSeesWholeOnes) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(":memory:", {});
  ASSERT_TRUE(store.ok());
  const std::vector<Row> rows = {AllowedRow(kLogBegin, "a", 1), AllowedRow(kLogBegin + 10, "a", 1),
                                 AllowedRow(kLogBegin + 20, "a", 1)};
  ASSERT_TRUE((*store)->Append(rows, 1).ok());
  int seen = 0;
  const absl::Status scanned = (*store)->Scan(Everything(), [&](const Row& row) {
    EXPECT_EQ(row.counts.checks, 1);
    EXPECT_TRUE((*store)->Append(rows, 2 + seen).ok());
    EXPECT_TRUE((*store)->Maintain(absl::FromUnixSeconds(kLogBegin)).ok());
    ++seen;
    return true;
  });
  EXPECT_TRUE(scanned.ok()) << scanned;
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(ChecksIn(**store), 12);
}

}  // namespace
}  // namespace headgate::throttle_log
