// SqliteScan: one reading of the throttle log's file, from what a filter takes to rows in order.
//
// It goes through time block by block, adds counts up by number rather than by name, and hands rows
// over as soon as no later block can add to them: its memory is that of one step of its result, or
// of some hours where steps are not summed up. Where the filter takes few identities it looks each
// up in each block; else it reads blocks whole.
//
// Runs in a read transaction of its caller's. Thread-compatible.
//
//   absl::StatusOr<SqliteScan> scan = SqliteScan::Prepare(database, filter);
//   absl::Status status = scan->Run(visit);
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/remember/sqlite/database.h"
#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/sqlite_table.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

class SqliteScan {
 public:
  // Looks up the names that the filter takes. The database outlives it.
  static absl::StatusOr<SqliteScan> Prepare(sqlite::Database& database, ScanFilter filter);

  absl::Status Run(absl::FunctionRef<bool(const Row&)> visit);

 private:
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  // A row of the result, by places in whos_ and whats_, which are sorted.
  struct Key {
    int64_t step_s = 0;
    int32_t who = 0;
    int32_t length_s = 0;
    int32_t what = 0;

    friend auto operator<=>(const Key&, const Key&) = default;  // NOLINT(modernize-use-nullptr)
    template <typename H>
    friend H AbslHashValue(H hash, const Key& key) {
      return H::combine(std::move(hash), key.step_s, key.who, key.length_s, key.what);
    }
  };
  struct Who {
    std::string identity, target;
    bool folded = false;
    std::string server;
    int64_t id = 0;

    friend auto operator<=>(const Who&, const Who&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct What {
    Outcome outcome = Outcome::kAllowed;
    Cause cause;

    friend auto operator<=>(const What&, const What&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct KnownWhat {
    int32_t place = 0;
    int32_t length_s = 0;
  };
  // One of the two tables, being read.
  struct Source {
    TableSpec spec;
    sqlite::Statement next, whole, one;
    int64_t block = 0;  // that is read next
  };

  explicit SqliteScan(ScanFilter filter) : filter_(std::move(filter)) {}

  absl::Status ReadWhos(sqlite::Database& database);
  absl::Status ReadWhats(sqlite::Database& database);
  static absl::StatusOr<Source> Open(sqlite::Database& database, const TableSpec& spec);
  bool ReadsWholeBlocks() const;

  // Moves to the first block that is not before this one and has rows.
  absl::Status Seek(Source& source, int64_t block);
  absl::Status ReadBlock(Source& source);
  void Take(const TableSpec& spec, const sqlite::Statement& row);
  Key KeyOf(int64_t step_s, int32_t who, const KnownWhat& what) const;
  // Hands over what is complete when all steps before this have been read. False: enough.
  bool Emit(int64_t before_s, absl::FunctionRef<bool(const Row&)> visit);
  Row RowOf(const Key& key, const Counts& counts) const;

  const ScanFilter filter_;
  int64_t all_whos_ = 0;  // in the file
  std::vector<Who> whos_;
  std::vector<What> whats_;
  absl::flat_hash_map<int64_t, int32_t> who_places_;
  absl::flat_hash_map<int64_t, KnownWhat> what_places_;
  std::vector<Source> sources_;
  absl::flat_hash_map<Key, Counts> open_;  // may still be added to
  int64_t oldest_open_s_ = kForever;
};

}  // namespace headgate::throttle_log
