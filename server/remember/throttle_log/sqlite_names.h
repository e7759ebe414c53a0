// SqliteNames: the numbers that stand for names in the throttle log's file, made as needed.
//
// It remembers what it has looked up, some tens of thousands of names. Used within the writer's
// transaction, and told to Forget when that was rolled back. Thread-compatible.
//
//   absl::StatusOr<int64_t> who = names.WhoOf(row.key, row.step_s);
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/remember/sqlite/database.h"
#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

class SqliteNames {
 public:
  SqliteNames() = default;  // may only be assigned to
  // The database outlives it.
  static absl::StatusOr<SqliteNames> Make(sqlite::Database& database);

  // Who was counted: identity, target, folded, server.
  absl::StatusOr<int64_t> WhoOf(const RowKey& key, int64_t step_s);
  // What was counted: outcome and cause, in steps of this length.
  absl::StatusOr<int64_t> WhatOf(const RowKey& key, int32_t length_s, int64_t step_s);
  // The same in longer steps.
  struct Coarser {
    int64_t what = 0;
    int32_t fine_s = 0;  // length of the steps of the one that was given
  };
  absl::StatusOr<Coarser> CoarserOf(int64_t what, int32_t length_s, int64_t step_s);

  // Drops those that were last counted before this day.
  absl::Status DropSeenBefore(int64_t day);

  void Forget();

 private:
  struct Known {
    int64_t id = 0;
    int64_t seen = 0;  // day
  };
  using Cache = absl::flat_hash_map<std::string, Known>;
  struct Sql {
    sqlite::Statement find, insert, see;
  };

  // The number of the name whose cache key is key_; `bind` gives the day and its columns to a
  // statement.
  absl::StatusOr<int64_t> IdOf(Cache& cache, Sql& sql, int64_t day,
                               absl::FunctionRef<void(sqlite::Statement&)> bind);
  // From the file, where it is added if it is new.
  absl::StatusOr<Known> Find(Sql& sql, absl::FunctionRef<void(sqlite::Statement&)> bind);

  Sql who_, what_;
  sqlite::Statement read_what_, drop_whos_, drop_whats_;
  Cache whos_, whats_;
  std::string key_;  // of the name that is being looked up
};

}  // namespace headgate::throttle_log
