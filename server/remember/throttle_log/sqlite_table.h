// SqliteTable: one of the two tables that hold the throttle log's counts, as its writer sees it.
//
// All of it belongs into the writer's transactions. Thread-compatible.
//
//   absl::Status status = table.Add({.block = 2945000, .who = 7, .step = 12, .what = 3}, counts);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/remember/sqlite/database.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/sqlite_schema.h"

namespace headgate::throttle_log {

// A row's key; the order of its fields is that in the file.
struct Place {
  int64_t block = 0;
  int64_t who = 0;
  int64_t step = 0;  // number within the block
  int64_t what = 0;

  friend auto operator<=>(const Place&, const Place&) = default;  // NOLINT(modernize-use-nullptr)

  template <typename H>
  friend H AbslHashValue(H hash, const Place& place) {
    return H::combine(std::move(hash), place.block, place.who, place.step, place.what);
  }
};

// Where a row belongs whose step begins at `step_s`.
constexpr Place PlaceOf(const TableSpec& table, int64_t step_s, int64_t length_s, int64_t who,
                        int64_t what) {
  const int64_t block = step_s / table.block_s;
  const int64_t step = step_s / length_s - FirstStepOf(table, block, length_s);
  return {.block = block, .who = who, .step = step, .what = what};
}

// Its inverse.
constexpr int64_t StepSecondsOf(const TableSpec& table, const Place& place, int64_t length_s) {
  return (FirstStepOf(table, place.block, length_s) + place.step) * length_s;
}

class SqliteTable {
 public:
  // The database outlives it.
  static absl::StatusOr<SqliteTable> Make(sqlite::Database& database, const TableSpec& spec);

  const TableSpec& spec() const { return spec_; }

  // Adds to what stands there. True: nothing did.
  absl::StatusOr<bool> Add(const Place& place, const Counts& counts);

  // The block with the oldest rows; none if the table is empty.
  absl::StatusOr<std::optional<int64_t>> OldestBlock();

  // When the first of a block's steps begins, in seconds; none: it has no rows. Reads all of them.
  absl::StatusOr<std::optional<int64_t>> FirstStepIn(int64_t block);

  // A part of a block that is to be dealt with at once: the first identities in it.
  struct Slice {
    int64_t block = 0;
    int64_t last_who = 0;
  };
  // About `rows` rows from the beginning of the block.
  absl::StatusOr<Slice> FirstOf(int64_t block, int64_t rows);
  absl::Status Read(const Slice& slice, absl::FunctionRef<bool(const Place&, const Counts&)> visit);
  // Returns how many there were.
  absl::StatusOr<int64_t> Delete(const Slice& slice);

 private:
  SqliteTable(sqlite::Database& database, const TableSpec& spec)
      : database_(&database), spec_(spec) {}

  sqlite::Database* database_;
  TableSpec spec_;
  // What stands there, and more.
  absl::StatusOr<std::string> AddedUp(const Place& place, const Waits& more);

  sqlite::Statement insert_, add_, waits_, oldest_, first_step_, find_end_, read_, delete_;
};

// Columns of "SELECT " kColumns.
inline constexpr std::string_view kColumns =
    "block, who, step, what, checks, cost, peak, lim, waits";
Place PlaceIn(const sqlite::Statement& row);
Counts CountsIn(const sqlite::Statement& row);

}  // namespace headgate::throttle_log
