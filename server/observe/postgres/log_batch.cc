#include "server/observe/postgres/log_batch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <pqxx/except>
#include <pqxx/result>
#include <pqxx/stream_to>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "server/observe/postgres/encoding.h"
#include "server/observe/postgres/log_schema.h"
#include "server/observe/postgres/log_waits.h"
#include "server/remember/throttle_log/row_filter.h"

namespace headgate::postgres {
namespace {

using throttle_log::Row;

// One that another client of a pooler left, maybe of another version, is not taken.
constexpr char kForget[] = "DROP TABLE IF EXISTS pg_temp.headgate_batch";
// $0: what becomes of it; $1: the columns of waits
constexpr char kStage[] = R"sql(
CREATE TEMPORARY TABLE IF NOT EXISTS headgate_batch (
  at_s bigint, step_s int, path text COLLATE "C", target text COLLATE "C", folded boolean,
  identity text COLLATE "C", server text COLLATE "C",
  outcome smallint, reason smallint, limit_kind smallint,
  budget text COLLATE "C", rule text COLLATE "C", signal text COLLATE "C",
  checks bigint, cost float8, peak float8, threshold float8, $1
) ON COMMIT $0
)sql";

// Names in one order, so that two writers do not wait for each other. Those that are there are not
// tried, as every try would take a number.
constexpr char kNames[] = R"sql(
INSERT INTO headgate_log.whos (path, target, folded, server, identity, seen)
SELECT path, target, folded, server, identity, max(at_s) / 86400 FROM headgate_batch AS b
WHERE NOT EXISTS (SELECT FROM headgate_log.whos AS w
  WHERE (w.path, w.target, w.folded, w.server) = (b.path, b.target, b.folded, b.server))
GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING;

INSERT INTO headgate_log.whats (step_s, outcome, reason, limit_kind, budget, rule, signal, seen)
SELECT step_s, outcome, reason, limit_kind, budget, rule, signal, max(at_s) / 86400
FROM headgate_batch AS b
WHERE NOT EXISTS (SELECT FROM headgate_log.whats AS w
  WHERE (w.step_s, w.outcome, w.reason, w.limit_kind, w.budget, w.rule, w.signal) =
        (b.step_s, b.outcome, b.reason, b.limit_kind, b.budget, b.rule, b.signal))
GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7 ON CONFLICT DO NOTHING;

UPDATE headgate_log.whos AS w SET seen = b.day
FROM (SELECT path, target, folded, server, max(at_s) / 86400 AS day FROM headgate_batch
  GROUP BY 1, 2, 3, 4) AS b
WHERE (w.path, w.target, w.folded, w.server) = (b.path, b.target, b.folded, b.server)
  AND w.seen < b.day;

UPDATE headgate_log.whats AS w SET seen = b.day
FROM (SELECT step_s, outcome, reason, limit_kind, budget, rule, signal,
        max(at_s) / 86400 AS day FROM headgate_batch GROUP BY 1, 2, 3, 4, 5, 6, 7) AS b
WHERE (w.step_s, w.outcome, w.reason, w.limit_kind, w.budget, w.rule, w.signal) =
      (b.step_s, b.outcome, b.reason, b.limit_kind, b.budget, b.rule, b.signal)
  AND w.seen < b.day
)sql";

// As Counts::Add has it. $0: the columns of waits; $1: how they add up.
constexpr char kCounts[] = R"sql(
INSERT INTO headgate_log.fine AS f (at, who, what, checks, cost, peak, threshold, $0)
SELECT to_timestamp(at_s), w.id, x.id, checks, cost, peak, threshold, $0
FROM headgate_batch
  JOIN headgate_log.whos AS w USING (path, target, folded, server)
  JOIN headgate_log.whats AS x
    USING (step_s, outcome, reason, limit_kind, budget, rule, signal)
ORDER BY w.id, at_s, x.id
ON CONFLICT (who, at, what) DO UPDATE SET
  checks = f.checks + excluded.checks, cost = f.cost + excluded.cost,
  peak = CASE WHEN excluded.peak > f.peak OR f.threshold = 0 THEN excluded.peak ELSE f.peak END,
  threshold = CASE WHEN excluded.peak > f.peak OR f.threshold = 0 THEN excluded.threshold
    ELSE f.threshold END, $1
)sql";

// One for each key, as a statement may touch a row once.
std::vector<Row> AddedUp(absl::Span<const Row> rows) {
  const auto key = [](const Row& row) { return std::tie(row.step_s, row.length_s, row.key); };
  std::vector<Row> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(),
            [&](const Row& a, const Row& b) { return key(a) < key(b); });
  std::vector<Row> sums;
  for (Row& row : sorted) {
    if (sums.empty() || key(sums.back()) != key(row)) {
      sums.push_back(std::move(row));
    } else {
      sums.back().counts.Add(row.counts);
    }
  }
  return sums;
}

std::string Number(double value) { return absl::StrFormat("%.17g", value); }

// NULL in all columns where there are none.
std::array<std::optional<int64_t>, kWaitColumns.size()> WaitFields(
    const throttle_log::OptionalWaits& waits) {
  std::array<std::optional<int64_t>, kWaitColumns.size()> fields;
  if (waits.get() == nullptr) return fields;
  const throttle_log::WaitNumbers numbers = throttle_log::NumbersOf(*waits.get());
  std::copy(numbers.begin(), numbers.end(), fields.begin());
  return fields;
}

void Copy(pqxx::transaction_base& work, const std::vector<Row>& rows) {
  pqxx::stream_to stream(work, "headgate_batch");
  for (const Row& row : rows) {
    const throttle_log::Cause& cause = row.key.cause;
    const auto counts = std::make_tuple(
        row.step_s, row.length_s, throttle_log::PathOf(row.key.identity), row.key.target,
        std::string(row.key.folded ? "t" : "f"), row.key.identity, row.key.server,
        static_cast<int>(row.key.outcome), static_cast<int>(cause.reason),
        static_cast<int>(cause.limit), cause.budget, cause.rule, cause.signal, row.counts.checks,
        Number(row.counts.cost), Number(row.counts.peak), Number(row.counts.limit));
    stream << std::tuple_cat(counts, WaitFields(row.counts.waits));
  }
  stream.complete();
}

}  // namespace

std::vector<Row> InAscii(absl::Span<const Row> rows) {
  std::vector<Row> ascii(rows.begin(), rows.end());
  for (Row& row : ascii) {
    throttle_log::Cause& cause = row.key.cause;
    for (std::string* const name : {&row.key.identity, &row.key.target, &row.key.server,
                                    &cause.budget, &cause.rule, &cause.signal}) {
      *name = AsciiOf(*name);
    }
  }
  return ascii;
}

void WriteLogBatch(pqxx::transaction_base& work, absl::Span<const Row> rows, BatchTable table) {
  std::set<int64_t> days;
  for (const Row& row : rows) days.insert(row.step_s / kSecondsInDay);
  for (const int64_t day : days) EnsureLogPartition(work, {.table = "fine", .day = day});
  if (table == BatchTable::kDropped) work.exec(kForget);
  work.exec(absl::Substitute(kStage, table == BatchTable::kDropped ? "DROP" : "DELETE ROWS",
                             WaitColumnTypes()));
  const std::vector<Row> sums = AddedUp(rows);
  Copy(work, sums);
  work.exec(kNames);
  // Another headgated may just have dropped a name that nobody used for long.
  const std::string counts = absl::Substitute(kCounts, WaitColumns(), WaitsAddedUp());
  if (work.exec(counts).affected_rows() != sums.size()) {
    throw pqxx::failure("a name of the throttle log went away meanwhile; once more");
  }
}

}  // namespace headgate::postgres
