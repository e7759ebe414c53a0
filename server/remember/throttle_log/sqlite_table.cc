#include "server/remember/throttle_log/sqlite_table.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/remember/throttle_log/waits_text.h"

namespace headgate::throttle_log {

Place PlaceIn(const sqlite::Statement& row) {
  return {.block = row.Int(0), .who = row.Int(1), .step = row.Int(2), .what = row.Int(3)};
}

Counts CountsIn(const sqlite::Statement& row) {
  Counts counts{
      .checks = row.Int(4), .cost = row.Double(5), .peak = row.Double(6), .limit = row.Double(7)};
  if (!row.IsNull(8)) counts.waits.Add(ParseWaits(row.Text(8)));
  return counts;
}

absl::StatusOr<SqliteTable> SqliteTable::Make(sqlite::Database& database, const TableSpec& spec) {
  SqliteTable table(database, spec);
  const auto name = Sv(spec.name);
  const std::string slice = absl::StrCat(" FROM ", name, " WHERE block = ? AND who <= ?");
  // As Counts::Add has it; all of SET sees the row as it was.
  const std::string add = absl::StrCat(
      "UPDATE ", name,
      " SET checks = checks + ?5, cost = cost + ?6,"
      " peak = iif(?7 > peak OR lim = 0, ?7, peak), lim = iif(?7 > peak OR lim = 0, ?8, lim),"
      " waits = coalesce(nullif(?9, ''), waits)"
      " WHERE block = ?1 AND who = ?2 AND step = ?3 AND what = ?4");
  absl::Status status = database.PrepareAll(
      {{&table.insert_, absl::StrCat("INSERT INTO ", name, " (", Sv(kColumns),
                                     ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, nullif(?9, ''))"
                                     " ON CONFLICT DO NOTHING")},
       {&table.add_, add},
       {&table.waits_, absl::StrCat("SELECT waits FROM ", name,
                                    " WHERE block = ? AND who = ? AND step = ? AND what = ?")},
       {&table.oldest_, absl::StrCat("SELECT block FROM ", name, " ORDER BY block LIMIT 1")},
       // As StepSecondsOf has it; of nothing it is NULL.
       {&table.first_step_,
        absl::StrCat("SELECT at FROM (SELECT min(((?1 * ", spec.block_s,
                     " + length - 1) / length + step) * length) AS at FROM ", name,
                     " JOIN whats ON whats.id = what WHERE block = ?1) WHERE at IS NOT NULL")},
       {&table.find_end_,
        absl::StrCat("SELECT who FROM ", name, " WHERE block = ? ORDER BY who LIMIT 1 OFFSET ?")},
       {&table.read_, absl::StrCat("SELECT ", Sv(kColumns), slice)},
       {&table.delete_, "DELETE" + slice}});
  if (!status.ok()) return status;
  return table;
}

absl::StatusOr<bool> SqliteTable::Add(const Place& place, const Counts& counts) {
  const Waits* const more = counts.waits.get();
  std::string waits = more == nullptr ? "" : WaitsText(*more);
  // By hand rather than ON CONFLICT DO UPDATE, which does not tell which of the two it did.
  absl::Status status = insert_.Run(place.block, place.who, place.step, place.what, counts.checks,
                                    counts.cost, counts.peak, counts.limit, waits);
  if (!status.ok()) return status;
  if (database_->changes() == 1) return true;
  if (more != nullptr) {
    absl::StatusOr<std::string> added = AddedUp(place, *more);
    if (!added.ok()) return added.status();
    waits = *std::move(added);
  }
  status = add_.Run(place.block, place.who, place.step, place.what, counts.checks, counts.cost,
                    counts.peak, counts.limit, waits);
  if (!status.ok()) return status;
  return false;
}

absl::StatusOr<std::string> SqliteTable::AddedUp(const Place& place, const Waits& more) {
  Waits sum = more;
  waits_.BindAll(place.block, place.who, place.step, place.what);
  absl::Status status = waits_.Each([&] {
    sum.Add(ParseWaits(waits_.Text(0)));
    return true;
  });
  if (!status.ok()) return status;
  return WaitsText(sum);
}

absl::StatusOr<std::optional<int64_t>> SqliteTable::OldestBlock() {
  std::optional<int64_t> block;
  absl::Status status = oldest_.Each([&] {
    block = oldest_.Int(0);
    return true;
  });
  if (!status.ok()) return status;
  return block;
}

absl::StatusOr<std::optional<int64_t>> SqliteTable::FirstStepIn(int64_t block) {
  std::optional<int64_t> step_s;
  first_step_.BindAll(block);
  absl::Status status = first_step_.Each([&] {
    step_s = first_step_.Int(0);
    return true;
  });
  if (!status.ok()) return status;
  return step_s;
}

absl::StatusOr<SqliteTable::Slice> SqliteTable::FirstOf(int64_t block, int64_t rows) {
  Slice slice = {.block = block, .last_who = std::numeric_limits<int64_t>::max()};
  find_end_.BindAll(block, rows);
  absl::Status status = find_end_.Each([&] {
    slice.last_who = find_end_.Int(0);
    return true;
  });
  if (!status.ok()) return status;
  return slice;
}

absl::Status SqliteTable::Read(const Slice& slice,
                               absl::FunctionRef<bool(const Place&, const Counts&)> visit) {
  read_.BindAll(slice.block, slice.last_who);
  return read_.Each([&] { return visit(PlaceIn(read_), CountsIn(read_)); });
}

absl::StatusOr<int64_t> SqliteTable::Delete(const Slice& slice) {
  absl::Status status = delete_.Run(slice.block, slice.last_who);
  if (!status.ok()) return status;
  return database_->changes();
}

}  // namespace headgate::throttle_log
