#include "server/observe/postgres/log_maintenance.h"

#include <algorithm>
#include <cstdint>
#include <pqxx/result>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "server/observe/postgres/log_schema.h"
#include "server/observe/postgres/log_waits.h"

namespace headgate::postgres {
namespace {

using throttle_log::Retention;

constexpr int64_t kRowsAtOnce = 30'000;

// Until the end of the transaction. The number is any that no other lock has.
bool TakeLock(pqxx::transaction_base& work) {
  return work.exec1("SELECT pg_try_advisory_xact_lock(4712650294)")[0].as<bool>();
}

// Apart from the newest day, which is written to.
std::vector<LogPartition> OldPartitions(pqxx::transaction_base& work) {
  std::vector<LogPartition> partitions = ListLogPartitions(work);
  const int64_t newest = partitions.empty() ? 0 : partitions.back().day;
  std::erase_if(partitions, [&](const LogPartition& one) { return one.day == newest; });
  return partitions;
}

void Drop(pqxx::transaction_base& work, const LogPartition& partition) {
  work.exec("DROP TABLE " + partition.Name());
}

throttle_log::StoreState MeasureLogSize(pqxx::transaction_base& work) {
  const auto sums = work.exec1(
      "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint,"
      " coalesce(sum(greatest(reltuples, 0)) FILTER (WHERE relispartition), 0)::bigint"
      " FROM pg_class WHERE relnamespace = to_regnamespace('headgate_log') AND relkind = 'r'");
  throttle_log::StoreState state;
  state.bytes = sums[0].as<int64_t>();
  state.rows = sums[1].as<int64_t>();
  return state;
}

// Each identity's first step, by the index: a partition has many steps of each.
constexpr char kFirstStep[] = R"sql(
WITH RECURSIVE firsts AS (
  (SELECT who, at FROM $0 ORDER BY who, at LIMIT 1)
  UNION ALL
  SELECT next.who, next.at FROM firsts CROSS JOIN LATERAL (
    SELECT who, at FROM $0 WHERE who > firsts.who ORDER BY who, at LIMIT 1) AS next)
SELECT extract(epoch FROM min(at))::bigint FROM firsts
)sql";

// Of the first day that has any.
absl::Time OldestStepIn(pqxx::transaction_base& work, const std::vector<LogPartition>& partitions) {
  absl::Time oldest = absl::InfiniteFuture();
  int64_t day = 0;
  for (const LogPartition& partition : partitions) {
    if (oldest != absl::InfiniteFuture() && partition.day != day) break;
    day = partition.day;
    const auto first = work.exec1(absl::Substitute(kFirstStep, partition.Name()))[0];
    if (!first.is_null()) oldest = std::min(oldest, absl::FromUnixSeconds(first.as<int64_t>()));
  }
  return oldest;
}

std::string FirstDayOf(const std::vector<LogPartition>& partitions) {
  std::string names;
  for (const LogPartition& partition : partitions) {
    if (partition.day == partitions.front().day) absl::StrAppend(&names, partition.Name(), " ");
  }
  return names;
}

// The names of $0's rows in steps of $1 s or longer, as some may have been longer before.
constexpr char kCoarseNames[] = R"sql(
INSERT INTO headgate_log.whats (step_s, outcome, reason, limit_kind, budget, rule, signal, seen)
SELECT DISTINCT greatest(step_s, $1), outcome, reason, limit_kind, budget, rule, signal, $2
FROM headgate_log.whats AS f
WHERE step_s < $1 AND NOT EXISTS (SELECT FROM headgate_log.whats AS c
  WHERE (c.step_s, c.outcome, c.reason, c.limit_kind, c.budget, c.rule, c.signal) =
        ($1, f.outcome, f.reason, f.limit_kind, f.budget, f.rule, f.signal))
ORDER BY 1, 2, 3, 4, 5, 6, 7 ON CONFLICT DO NOTHING;
UPDATE headgate_log.whats SET seen = $2 WHERE step_s = $1 AND seen < $2
)sql";

// Moves rows of the first identities. A peak and its threshold stay together in their array. $4 to
// $6: the columns of waits, their sums, and how they add up.
constexpr char kMove[] = R"sql(
WITH last AS (
  SELECT coalesce((SELECT who FROM $0 ORDER BY who LIMIT 1 OFFSET $3), 2147483647) AS who),
gone AS (DELETE FROM $0 WHERE who <= (SELECT who FROM last) RETURNING *),
moved AS (
  INSERT INTO headgate_log.coarse AS f (at, who, what, checks, cost, peak, threshold, $4)
  SELECT to_timestamp(extract(epoch FROM at)::bigint / c.step_s * c.step_s), who, c.id,
    sum(checks), sum(cost), (max(ARRAY[peak, threshold]))[1], (max(ARRAY[peak, threshold]))[2], $5
  FROM gone JOIN headgate_log.whats AS w ON w.id = what
    JOIN headgate_log.whats AS c ON
      (c.step_s, c.outcome, c.reason, c.limit_kind, c.budget, c.rule, c.signal) =
      (greatest(w.step_s, $1), w.outcome, w.reason, w.limit_kind, w.budget, w.rule, w.signal)
  GROUP BY 1, 2, 3
  ON CONFLICT (who, at, what) DO UPDATE SET
    checks = f.checks + excluded.checks, cost = f.cost + excluded.cost,
    peak = greatest(f.peak, excluded.peak),
    threshold = CASE WHEN excluded.peak > f.peak OR f.threshold = 0 THEN excluded.threshold
      ELSE f.threshold END, $6)
SELECT count(*) FROM gone
)sql";

}  // namespace

void DropOldLogDays(pqxx::transaction_base& work, const Retention& retention, absl::Time now) {
  if (!TakeLock(work)) return;
  const int64_t end_s = absl::ToUnixSeconds(now - retention.keep_for);
  for (const LogPartition& partition : ListLogPartitions(work)) {
    if ((partition.day + 1) * kSecondsInDay <= end_s) Drop(work, partition);
  }
}

void DropLogDaysBeyondCap(pqxx::transaction_base& work, const Retention& retention, absl::Time) {
  if (!TakeLock(work)) return;
  int64_t bytes = MeasureLogSize(work).bytes;
  for (const LogPartition& partition : OldPartitions(work)) {
    if (bytes <= retention.max_bytes) return;
    bytes -= work.exec1(absl::StrCat("SELECT pg_total_relation_size('", partition.Name(), "')"))[0]
                 .as<int64_t>();
    Drop(work, partition);
  }
}

void CoarsenLogDays(pqxx::transaction_base& work, const Retention& retention, absl::Time now) {
  const int64_t coarse_s = absl::ToInt64Seconds(retention.coarse_step);
  if (coarse_s <= 0 || !TakeLock(work)) return;
  const int64_t end_s = absl::ToUnixSeconds(now - retention.coarsen_after) / coarse_s * coarse_s;
  for (const LogPartition& partition : ListLogPartitions(work)) {
    if (partition.table != "fine" || (partition.day + 1) * kSecondsInDay > end_s) continue;
    // A step of the coarse ones may begin on the day before.
    const int64_t begin_s = partition.day * kSecondsInDay / coarse_s * coarse_s;
    for (int64_t day = begin_s / kSecondsInDay; day <= partition.day; ++day) {
      EnsureLogPartition(work, {.table = "coarse", .day = day});
    }
    work.exec(absl::Substitute(kCoarseNames, "", coarse_s, partition.day));
    // Nobody adds to it before it is dropped.
    work.exec(absl::StrCat("LOCK TABLE ", partition.Name(), " IN SHARE ROW EXCLUSIVE MODE"));
    const int64_t moved =
        work.exec1(absl::Substitute(kMove, partition.Name(), coarse_s, "", kRowsAtOnce,
                                    WaitColumns(), WaitSums(), WaitsAddedUp()))[0]
            .as<int64_t>();
    if (moved <= kRowsAtOnce) Drop(work, partition);
    return;
  }
}

// Those that were last counted on a day of which nothing is left.
void DropUnusedLogNames(pqxx::transaction_base& work) {
  if (!TakeLock(work)) return;
  const std::vector<LogPartition> partitions = ListLogPartitions(work);
  if (partitions.empty()) return;
  for (const char* table : {"whos", "whats"}) {
    work.exec(
        absl::StrCat("DELETE FROM headgate_log.", table, " WHERE seen < ", partitions.front().day));
  }
  work.exec("DELETE FROM headgate_log.writers WHERE wrote_at < now() - interval '30 days'");
}

throttle_log::StoreState MeasureLog(pqxx::transaction_base& work, KnownOldestStep& known) {
  throttle_log::StoreState state = MeasureLogSize(work);
  const std::vector<LogPartition> partitions = ListLogPartitions(work);
  if (partitions.empty()) return state;
  const int64_t first_day = partitions.front().day;
  // Others may write into the newest day what is older than all that is in it.
  const bool is_over = partitions.back().day > first_day;
  const std::string first = FirstDayOf(partitions);
  if (!is_over || known.partitions != first) known = {first, OldestStepIn(work, partitions)};
  state.oldest = known.at;
  return state;
}

}  // namespace headgate::postgres
