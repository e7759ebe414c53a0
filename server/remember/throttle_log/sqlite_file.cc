#include "server/remember/throttle_log/sqlite_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/remember/throttle_log/sqlite_schema.h"

namespace headgate::throttle_log {
namespace {

int64_t BytesOf(const std::string& path) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : static_cast<int64_t>(bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteFile>> SqliteFile::Open(const std::string& path) {
  absl::StatusOr<sqlite::Database> database = OpenLogDatabase(path);
  if (!database.ok()) return database.status();
  std::unique_ptr<SqliteFile> file(new SqliteFile(*std::move(database)));
  absl::Status status = file->Prepare();
  // Where a file is damaged at its beginning, this finds out.
  if (status.ok()) status = file->Measure().status();
  if (!status.ok()) return status;
  return file;
}

absl::Status SqliteFile::Prepare() {
  for (auto [table, spec] : {std::pair(&fine_, kFine), std::pair(&coarse_, kCoarse)}) {
    absl::StatusOr<SqliteTable> made = SqliteTable::Make(database_, spec);
    if (!made.ok()) return made.status();
    *table = std::make_unique<SqliteTable>(*std::move(made));
  }
  absl::StatusOr<SqliteNames> names = SqliteNames::Make(database_);
  if (!names.ok()) return names.status();
  names_ = *std::move(names);
  return database_.PrepareAll({{&count_, "UPDATE total SET rows = rows + ?"}});
}

// In the order of the table, so that neighbours find their page at hand.
absl::Status SqliteFile::Add(absl::Span<const Row> rows) {
  absl::StatusOr<sqlite::Transaction> transaction = sqlite::Transaction::Begin(database_);
  if (!transaction.ok()) return transaction.status();
  std::vector<std::pair<Place, const Counts*>> placed;
  placed.reserve(rows.size());
  for (const Row& row : rows) {
    if (row.length_s <= 0 || row.step_s < 0) {
      return absl::InvalidArgumentError(absl::StrCat("a row of the throttle log has a step at ",
                                                     row.step_s, " s of ", row.length_s, " s"));
    }
    absl::StatusOr<int64_t> who = names_.WhoOf(row.key, row.step_s);
    if (!who.ok()) return who.status();
    absl::StatusOr<int64_t> what = names_.WhatOf(row.key, row.length_s, row.step_s);
    if (!what.ok()) return what.status();
    placed.emplace_back(PlaceOf(kFine, row.step_s, row.length_s, *who, *what), &row.counts);
  }
  std::sort(placed.begin(), placed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  int64_t added = 0;
  for (const auto& [place, counts] : placed) {
    absl::StatusOr<bool> is_new = fine_->Add(place, *counts);
    if (!is_new.ok()) return is_new.status();
    added += *is_new ? 1 : 0;
  }
  absl::Status status = CountRows(added);
  if (status.ok()) status = transaction->Commit();
  if (!status.ok()) return status;
  for (const Row& row : rows) {
    const int64_t begin_s = row.step_s / row.length_s * row.length_s;
    if (oldest_step_s_.has_value()) oldest_step_s_ = std::min(*oldest_step_s_, begin_s);
  }
  return status;
}

absl::Status SqliteFile::CountRows(int64_t added) {
  return added == 0 ? absl::OkStatus() : count_.Run(added);
}

absl::StatusOr<StoreState> SqliteFile::Measure() {
  absl::StatusOr<int64_t> rows = database_.QueryInt("SELECT rows FROM total");
  if (!rows.ok()) return rows.status();
  absl::StatusOr<std::optional<int64_t>> oldest_s = OldestStep();
  if (!oldest_s.ok()) return oldest_s.status();
  StoreState state;
  state.rows = *rows;
  if (oldest_s->has_value()) state.oldest = absl::FromUnixSeconds(**oldest_s);
  if (database_.path() != ":memory:") {
    state.bytes = BytesOf(database_.path()) + BytesOf(database_.path() + "-wal");
    return state;
  }
  absl::StatusOr<int64_t> used = UsedBytes();
  if (!used.ok()) return used.status();
  state.bytes = *used;
  return state;
}

absl::StatusOr<int64_t> SqliteFile::UsedBytes() {
  return database_.QueryInt(
      "SELECT (page_count - freelist_count) * page_size"
      " FROM pragma_page_count, pragma_freelist_count, pragma_page_size");
}

absl::StatusOr<std::optional<int64_t>> SqliteFile::OldestStep() {
  const absl::StatusOr<std::optional<int64_t>> fine = fine_->OldestBlock();
  if (!fine.ok()) return fine.status();
  const absl::StatusOr<std::optional<int64_t>> coarse = coarse_->OldestBlock();
  if (!coarse.ok()) return coarse.status();
  const std::pair blocks(*fine, *coarse);
  if (blocks == oldest_blocks_) return oldest_step_s_;
  std::optional<int64_t> oldest_s;
  // Where the coarse one is over when the fine one begins, it alone is read.
  const bool coarse_is_older = coarse->has_value() && fine->has_value() &&
                               (**coarse + 1) * kCoarse.block_s <= **fine * kFine.block_s;
  for (const auto& [table, block] :
       {std::pair(coarse_.get(), *coarse), std::pair(fine_.get(), *fine)}) {
    if (!block.has_value() || (coarse_is_older && table == fine_.get())) continue;
    const absl::StatusOr<std::optional<int64_t>> first_s = table->FirstStepIn(*block);
    // What is damaged there is for whoever needs it to find out.
    const int64_t begin_s = *block * table->spec().block_s;
    const int64_t step_s = first_s.ok() ? first_s->value_or(begin_s) : begin_s;
    oldest_s = std::min(oldest_s.value_or(step_s), step_s);
  }
  oldest_blocks_ = blocks;
  oldest_step_s_ = oldest_s;
  return oldest_s;
}

absl::StatusOr<std::optional<int64_t>> SqliteFile::OldestSeconds() {
  std::optional<int64_t> oldest_s;
  for (SqliteTable* table : {fine_.get(), coarse_.get()}) {
    absl::StatusOr<std::optional<int64_t>> block = table->OldestBlock();
    if (!block.ok()) return block.status();
    if (!block->has_value()) continue;
    const int64_t begin_s = **block * table->spec().block_s;
    oldest_s = std::min(oldest_s.value_or(begin_s), begin_s);
  }
  return oldest_s;
}

}  // namespace headgate::throttle_log
