#include "server/remember/throttle_log/sqlite_names.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/remember/throttle_log/row_filter.h"
#include "server/remember/throttle_log/sqlite_schema.h"

namespace headgate::throttle_log {
namespace {

constexpr size_t kMaxCached = 65'536;

// The first parameter is the day in all of them.
constexpr std::string_view kFindWho =
    "SELECT id, seen FROM whos WHERE path = ?2 AND target = ?3 AND folded = ?4 AND server = ?5";
constexpr std::string_view kInsertWho =
    "INSERT INTO whos (seen, path, target, folded, server) VALUES (?1, ?2, ?3, ?4, ?5)"
    " RETURNING id, seen";
constexpr std::string_view kSeeWho = "UPDATE whos SET seen = ?1 WHERE id = ?2";
constexpr std::string_view kFindWhat =
    "SELECT id, seen FROM whats WHERE length = ?2 AND outcome = ?3 AND reason = ?4 AND lim = ?5"
    " AND budget = ?6 AND rule = ?7 AND signal = ?8";
constexpr std::string_view kInsertWhat =
    "INSERT INTO whats (seen, length, outcome, reason, lim, budget, rule, signal)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id, seen";
constexpr std::string_view kSeeWhat = "UPDATE whats SET seen = ?1 WHERE id = ?2";
constexpr std::string_view kReadWhat =
    "SELECT length, outcome, reason, lim, budget, rule, signal FROM whats WHERE id = ?";

RowKey KeyOf(const sqlite::Statement& what) {
  RowKey key;
  key.outcome = static_cast<Outcome>(what.Int(1));
  key.cause = {.reason = static_cast<engine::Reason>(what.Int(2)),
               .limit = static_cast<engine::Limit>(what.Int(3)),
               .budget = std::string(what.Text(4)),
               .rule = std::string(what.Text(5)),
               .signal = std::string(what.Text(6))};
  return key;
}

}  // namespace

absl::StatusOr<SqliteNames> SqliteNames::Make(sqlite::Database& database) {
  SqliteNames names;
  absl::Status status =
      database.PrepareAll({{&names.who_.find, kFindWho},
                           {&names.who_.insert, kInsertWho},
                           {&names.who_.see, kSeeWho},
                           {&names.what_.find, kFindWhat},
                           {&names.what_.insert, kInsertWhat},
                           {&names.what_.see, kSeeWhat},
                           {&names.read_what_, kReadWhat},
                           {&names.drop_whos_, "DELETE FROM whos WHERE seen < ?"},
                           {&names.drop_whats_, "DELETE FROM whats WHERE seen < ?"}});
  if (!status.ok()) return status;
  return names;
}

absl::StatusOr<int64_t> SqliteNames::WhoOf(const RowKey& key, int64_t step_s) {
  key_.assign(key.identity).push_back('\0');
  key_.append(key.target).push_back(key.folded ? '1' : '0');
  key_.append(key.server);
  const int64_t day = step_s / kDayS;
  return IdOf(whos_, who_, day, [&](sqlite::Statement& statement) {
    statement.BindAll(day, PathOf(key.identity), key.target, key.folded ? 1 : 0, key.server);
  });
}

absl::StatusOr<int64_t> SqliteNames::WhatOf(const RowKey& key, int32_t length_s, int64_t step_s) {
  const Cause& cause = key.cause;
  const int outcome = static_cast<int>(key.outcome);
  const int reason = static_cast<int>(cause.reason);
  const int limit = static_cast<int>(cause.limit);
  key_.clear();
  absl::StrAppend(&key_, length_s, ",", outcome, ",", reason, ",", limit, ",", cause.budget);
  key_.append(1, '\0').append(cause.rule).append(1, '\0').append(cause.signal);
  const int64_t day = step_s / kDayS;
  return IdOf(whats_, what_, day, [&](sqlite::Statement& statement) {
    statement.BindAll(day, length_s, outcome, reason, limit, cause.budget, cause.rule,
                      cause.signal);
  });
}

absl::StatusOr<SqliteNames::Coarser> SqliteNames::CoarserOf(int64_t what, int32_t length_s,
                                                            int64_t step_s) {
  read_what_.BindAll(what);
  absl::StatusOr<bool> row = read_what_.Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::DataLossError(absl::StrCat("the throttle log has no name ", what));
  const RowKey key = KeyOf(read_what_);
  const auto fine_s = static_cast<int32_t>(read_what_.Int(0));
  read_what_.Reset();
  absl::StatusOr<int64_t> id = WhatOf(key, std::max(fine_s, length_s), step_s);
  if (!id.ok()) return id.status();
  return Coarser{.what = *id, .fine_s = fine_s};
}

absl::StatusOr<int64_t> SqliteNames::IdOf(Cache& cache, Sql& sql, int64_t day,
                                          absl::FunctionRef<void(sqlite::Statement&)> bind) {
  auto known = cache.find(key_);
  if (known == cache.end()) {
    absl::StatusOr<Known> found = Find(sql, bind);
    if (!found.ok()) return found.status();
    if (cache.size() >= kMaxCached) cache.clear();
    known = cache.emplace(key_, *found).first;
  }
  if (known->second.seen < day) {
    absl::Status status = sql.see.Run(day, known->second.id);
    if (!status.ok()) return status;
    known->second.seen = day;
  }
  return known->second.id;
}

absl::StatusOr<SqliteNames::Known> SqliteNames::Find(
    Sql& sql, absl::FunctionRef<void(sqlite::Statement&)> bind) {
  Known known;
  const auto read = [&](sqlite::Statement& statement) {
    bind(statement);
    return statement.Each([&] {
      known = {.id = statement.Int(0), .seen = statement.Int(1)};
      return true;
    });
  };
  absl::Status status = read(sql.find);
  if (status.ok() && known.id == 0) status = read(sql.insert);
  if (!status.ok()) return status;
  return known;
}

absl::Status SqliteNames::DropSeenBefore(int64_t day) {
  Forget();
  absl::Status status = drop_whos_.Run(day);
  if (status.ok()) status = drop_whats_.Run(day);
  return status;
}

void SqliteNames::Forget() {
  whos_.clear();
  whats_.clear();
}

}  // namespace headgate::throttle_log
