// The names that a filter takes, read from the file and put in the order of the result.

#include <algorithm>
#include <cstddef>

#include "server/remember/throttle_log/row_filter.h"
#include "server/remember/throttle_log/sqlite_scan.h"

namespace headgate::throttle_log {

absl::Status SqliteScan::ReadWhos(sqlite::Database& database) {
  absl::StatusOr<int64_t> all = database.QueryInt("SELECT count(*) FROM whos");
  if (!all.ok()) return all.status();
  all_whos_ = *all;
  // Below a level is what begins with its path and ":", the character before ";".
  absl::StatusOr<sqlite::Statement> query = database.Prepare(
      filter_.identity.empty() ? "SELECT path, target, folded, server, id FROM whos"
                               : "SELECT path, target, folded, server, id FROM whos"
                                 " WHERE path = ?1 OR (path >= ?1 || ':' AND path < ?1 || ';')");
  if (!query.ok()) return query.status();
  if (!filter_.identity.empty()) query->BindAll(PathOf(filter_.identity));
  absl::Status status = query->Each([&] {
    Who who = {.identity = PathOf(query->Text(0)),
               .target = std::string(query->Text(1)),
               .folded = query->Int(2) != 0,
               .server = std::string(query->Text(3)),
               .id = query->Int(4)};
    if (TakesWho(filter_, who.identity, who.target, who.server)) whos_.push_back(std::move(who));
    return true;
  });
  std::sort(whos_.begin(), whos_.end());
  for (size_t i = 0; i < whos_.size(); ++i) who_places_[whos_[i].id] = static_cast<int32_t>(i);
  return status;
}

absl::Status SqliteScan::ReadWhats(sqlite::Database& database) {
  absl::StatusOr<sqlite::Statement> query =
      database.Prepare("SELECT id, length, outcome, reason, lim, budget, rule, signal FROM whats");
  if (!query.ok()) return query.status();
  struct Found {
    What what;
    int64_t id = 0;
    int32_t length_s = 0;
  };
  std::vector<Found> found;
  absl::Status status = query->Each([&] {
    What what = {.outcome = static_cast<Outcome>(query->Int(2)),
                 .cause = {.reason = static_cast<engine::Reason>(query->Int(3)),
                           .limit = static_cast<engine::Limit>(query->Int(4)),
                           .budget = std::string(query->Text(5)),
                           .rule = std::string(query->Text(6)),
                           .signal = std::string(query->Text(7))}};
    if (TakesWhat(filter_, what.outcome, what.cause)) {
      found.push_back({std::move(what), query->Int(0), static_cast<int32_t>(query->Int(1))});
    }
    return true;
  });
  // Those that differ by the length of their steps alone are one.
  for (const Found& one : found) whats_.push_back(one.what);
  std::sort(whats_.begin(), whats_.end());
  whats_.erase(std::unique(whats_.begin(), whats_.end()), whats_.end());
  for (const Found& one : found) {
    const auto at = std::lower_bound(whats_.begin(), whats_.end(), one.what);
    what_places_[one.id] = {.place = static_cast<int32_t>(at - whats_.begin()),
                            .length_s = one.length_s};
  }
  return status;
}

}  // namespace headgate::throttle_log
