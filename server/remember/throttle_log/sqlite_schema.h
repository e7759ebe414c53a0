// The SQLite file of the throttle log: its tables, and where in them a row belongs.
//
//   whos    id, path (the identity with its root first), target, folded, server, seen
//   whats   id, length of the step in s, outcome, reason, limit kind, budget, rule, signal, seen
//   fine    block, who, step, what -> checks, cost, peak, lim, waits (waits_text.h)
//   coarse  the same
//   total   the number of rows in fine and coarse
//
// Names are kept once. `seen` is the newest day that a name was counted in, so that those which no
// row has any more are found without reading the rows.
//
// A block is some minutes (fine) or hours (coarse) of time, and the first part of the key: new rows
// go to the end of the table, old ones go away as a whole, and one identity's are a range in each
// block. Ten minutes: shorter, and a day of one identity is scattered over more pages; longer, and
// each batch touches more of them. A step is its number within the block, which takes a byte.
//
// Pure functions and constants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/remember/sqlite/database.h"

namespace headgate::throttle_log {

struct TableSpec {
  std::string_view name;
  int64_t block_s;  // length of a block
};
inline constexpr TableSpec kFine = {"fine", 600};
inline constexpr TableSpec kCoarse = {"coarse", 21'600};
inline constexpr int64_t kDayS = 86'400;

// The number of the first step that begins in a block. Steps need not divide blocks.
constexpr int64_t FirstStepOf(const TableSpec& table, int64_t block, int64_t length_s) {
  return (block * table.block_s + length_s - 1) / length_s;
}

// Opens for writing, and makes what is missing, or brings what an older Headgate made up to date.
// DataLoss: corrupt, or another program's; FailedPrecondition: of a newer Headgate.
absl::StatusOr<sqlite::Database> OpenLogDatabase(const std::string& path);

}  // namespace headgate::throttle_log
