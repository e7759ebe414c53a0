// Retention, coarser steps and the size cap, in transactions of some tens of thousands of rows.
//
// Rows move from the fine table to the coarse one in one transaction with their removal, so that
// sums are the same at every instant.

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/remember/throttle_log/sqlite_file.h"
#include "server/remember/throttle_log/sqlite_schema.h"

namespace headgate::throttle_log {
namespace {

// In a second even a slow machine does several times as many.
constexpr int64_t kRowsAtOnce = 150'000;
constexpr int64_t kRowsInSlice = 30'000;
constexpr int64_t kPagesAtOnce = 2048;
// Free pages are kept for new rows, up to this part of the file.
constexpr int64_t kFreePart = 16;

}  // namespace

absl::Status SqliteFile::Maintain(const Retention& retention, absl::Time now) {
  const int64_t keep_from_s = absl::ToUnixSeconds(now - retention.keep_for);
  const int64_t fine_from_s = absl::ToUnixSeconds(now - retention.coarsen_after);
  int64_t left = kRowsAtOnce;
  absl::StatusOr<int64_t> done = 0;
  const auto go_on = [&] {
    if (done.ok()) left -= *done;
    return done.ok() && left > 0;
  };
  for (SqliteTable* table : {coarse_.get(), fine_.get()}) {
    if (go_on()) done = DropBefore(*table, keep_from_s, left);
  }
  if (go_on()) done = DropBeyond(retention.max_bytes, left);
  if (go_on()) done = Coarsen(retention, fine_from_s, left);
  absl::Status status = done.status();
  if (status.ok()) status = DropNames();
  if (status.ok()) status = GiveSpaceBack();
  return status;
}

absl::StatusOr<int64_t> SqliteFile::DropBefore(SqliteTable& table, int64_t end_s, int64_t most) {
  int64_t dropped = 0;
  while (dropped < most) {
    absl::StatusOr<std::optional<int64_t>> block = table.OldestBlock();
    if (!block.ok()) return block.status();
    if (!block->has_value() || (**block + 1) * table.spec().block_s > end_s) break;
    absl::StatusOr<int64_t> slice = DropSlice(table, **block, kRowsInSlice);
    if (!slice.ok()) return slice;
    dropped += *slice;
  }
  return dropped;
}

absl::StatusOr<int64_t> SqliteFile::DropBeyond(int64_t max_bytes, int64_t most) {
  int64_t dropped = 0;
  while (dropped < most) {
    absl::StatusOr<int64_t> used = UsedBytes();
    if (!used.ok()) return used;
    if (*used <= max_bytes - max_bytes / kFreePart) break;
    absl::StatusOr<std::optional<int64_t>> oldest_s = OldestSeconds();
    if (!oldest_s.ok()) return oldest_s.status();
    if (!oldest_s->has_value()) break;
    absl::StatusOr<std::optional<int64_t>> block = coarse_->OldestBlock();
    if (!block.ok()) return block.status();
    const bool is_coarse = block->has_value() && **block * coarse_->spec().block_s == **oldest_s;
    SqliteTable& table = is_coarse ? *coarse_ : *fine_;
    absl::StatusOr<int64_t> slice =
        DropSlice(table, **oldest_s / table.spec().block_s, kRowsInSlice);
    if (!slice.ok()) return slice;
    dropped += *slice;
  }
  return dropped;
}

absl::StatusOr<int64_t> SqliteFile::DropSlice(SqliteTable& table, int64_t block, int64_t most) {
  absl::StatusOr<sqlite::Transaction> transaction = sqlite::Transaction::Begin(database_);
  if (!transaction.ok()) return transaction.status();
  absl::StatusOr<SqliteTable::Slice> slice = table.FirstOf(block, most);
  if (!slice.ok()) return slice.status();
  absl::StatusOr<int64_t> dropped = table.Delete(*slice);
  if (!dropped.ok()) return dropped;
  absl::Status status = CountRows(-*dropped);
  if (status.ok()) status = transaction->Commit();
  if (!status.ok()) return status;
  return dropped;
}

absl::StatusOr<int64_t> SqliteFile::Coarsen(const Retention& retention, int64_t end_s,
                                            int64_t most) {
  const int64_t coarse_s = absl::ToInt64Seconds(retention.coarse_step);
  if (coarse_s <= 0) return 0;
  end_s = end_s / coarse_s * coarse_s;  // no step becomes coarse in part
  int64_t moved = 0;
  while (moved < most) {
    absl::StatusOr<std::optional<int64_t>> block = fine_->OldestBlock();
    if (!block.ok()) return block.status();
    if (!block->has_value() || (**block + 1) * fine_->spec().block_s > end_s) break;
    absl::StatusOr<int64_t> slice = CoarsenSlice(retention, **block, kRowsInSlice);
    if (!slice.ok()) return slice;
    moved += *slice;
  }
  return moved;
}

absl::StatusOr<int64_t> SqliteFile::CoarsenSlice(const Retention& retention, int64_t block,
                                                 int64_t most) {
  const auto coarse_s = static_cast<int32_t>(absl::ToInt64Seconds(retention.coarse_step));
  absl::StatusOr<sqlite::Transaction> transaction = sqlite::Transaction::Begin(database_);
  if (!transaction.ok()) return transaction.status();
  absl::StatusOr<SqliteTable::Slice> slice = fine_->FirstOf(block, most);
  if (!slice.ok()) return slice.status();

  absl::flat_hash_map<int64_t, SqliteNames::Coarser> whats;
  absl::flat_hash_map<Place, Counts> sums;
  absl::Status name_status;
  absl::Status status = fine_->Read(*slice, [&](const Place& place, const Counts& counts) {
    auto [coarser, is_new] = whats.try_emplace(place.what);
    if (is_new) {
      auto found = names_.CoarserOf(place.what, coarse_s, block * fine_->spec().block_s);
      name_status = found.status();
      if (!found.ok()) return false;
      coarser->second = *found;
    }
    const int32_t fine_s = coarser->second.fine_s;
    const int32_t length_s = std::max(fine_s, coarse_s);
    const int64_t step_s = StepSecondsOf(kFine, place, fine_s) / length_s * length_s;
    sums[PlaceOf(kCoarse, step_s, length_s, place.who, coarser->second.what)].Add(counts);
    return true;
  });
  if (status.ok()) status = name_status;
  if (!status.ok()) return status;

  absl::StatusOr<int64_t> dropped = fine_->Delete(*slice);
  if (!dropped.ok()) return dropped;
  std::vector<std::pair<Place, Counts>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  int64_t added = 0;
  for (const auto& [place, counts] : sorted) {
    absl::StatusOr<bool> is_new = coarse_->Add(place, counts);
    if (!is_new.ok()) return is_new.status();
    added += *is_new ? 1 : 0;
  }
  status = CountRows(added - *dropped);
  if (status.ok()) status = transaction->Commit();
  if (!status.ok()) return status;
  return dropped;
}

// Names that were last counted on a day before the oldest row's are no row's any more.
absl::Status SqliteFile::DropNames() {
  absl::StatusOr<std::optional<int64_t>> oldest_s = OldestSeconds();
  if (!oldest_s.ok()) return oldest_s.status();
  if (!oldest_s->has_value()) return absl::OkStatus();
  const int64_t day = **oldest_s / kDayS;
  if (day == names_dropped_before_) return absl::OkStatus();
  absl::StatusOr<sqlite::Transaction> transaction = sqlite::Transaction::Begin(database_);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = names_.DropSeenBefore(day);
  if (status.ok()) status = transaction->Commit();
  if (status.ok()) names_dropped_before_ = day;
  return status;
}

// The file becomes shorter at the checkpoint, which waits for readers as long as for any lock.
absl::Status SqliteFile::GiveSpaceBack() {
  absl::StatusOr<int64_t> too_much = database_.QueryInt(
      absl::StrCat("SELECT freelist_count * ", kFreePart,
                   " > page_count FROM pragma_freelist_count, pragma_page_count"));
  if (!too_much.ok()) return too_much.status();
  if (*too_much == 0) return absl::OkStatus();
  absl::Status status =
      database_.Run(absl::StrCat("PRAGMA incremental_vacuum(", kPagesAtOnce, ")"));
  if (status.ok()) status = database_.Run("PRAGMA wal_checkpoint(TRUNCATE)");
  return status;
}

}  // namespace headgate::throttle_log
