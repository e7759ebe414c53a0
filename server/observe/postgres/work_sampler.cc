#include "server/observe/postgres/work_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/sql_text.h"

namespace headgate::postgres {
namespace {

constexpr int64_t kLookAgainNs = 30'000'000'000;
constexpr int kStatsSinceVersion = 170000;
// How long it is said: that counts began anew, for as long as a FlowMeter does not trust them; and
// that more statements ran than are compared, which in short times is not so in each reading.
constexpr int64_t kAnewNs = 10'000'000'000;
constexpr int64_t kCrowdedNs = 60'000'000'000;

// $1: roles of batch work, $2: patterns of its application names.
constexpr std::string_view kWork = R"sql(
SELECT pg_snapshot_xmax(pg_current_snapshot()),
       count(*) FILTER (WHERE active AND NOT batch),
       count(*) FILTER (WHERE active AND batch),
       coalesce(bool_or(usename = current_user AND NOT batch), false)
FROM (SELECT usename, state = 'active' AS active,
             coalesce(usename = ANY ($1::text[]) OR application_name LIKE ANY ($2::text[]), false)
               AS batch
      FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
        AND application_name <> 'headgate') AS sessions)sql";
constexpr size_t kXmax = 0;
constexpr size_t kForeground = 1;
constexpr size_t kBatch = 2;
constexpr size_t kRoleIsShared = 3;

// 1.9 came with PostgreSQL 14, and with it pg_stat_statements_info.
constexpr std::string_view kSchema = R"sql(
SELECT quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'
  AND string_to_array(e.extversion, '.')::int[] >= '{1,9}')sql";

// $1: roles of batch work, $2: keys of what is compared, $3: what the reading before returned as
// remembered, $4: the fewest calls of an entry to remember, $5: the most calls that one had which
// is not remembered; $schema: of the extension, $since: what tells an entry from the one that was
// there before it was evicted. Without the statements' texts, which are in a file. First comes one
// row about the view, and then those that are compared and those that ran most since the reading
// before. A mean of squares is deviation^2 + mean^2.
//
// Where not all are compared the entries are remembered, so that of each it is known how often it
// ran since: 40 bits of its key and 24 of its calls. Two arrays would cost a third more.
//
// Of those that are not compared each row says how often all of them ran, and how many are new: not
// all of them are among the rows. Who has how much of what is thrown away follows from what could
// be thrown away next, which is what has run least.
constexpr std::string_view kStatements = R"sql(
WITH entries AS MATERIALIZED (
  SELECT $key AS key, calls, total_exec_time, mean_exec_time, stddev_exec_time,
         toplevel AND queryid IS NOT NULL AND userid <> ALL (ARRAY(
           SELECT oid FROM pg_roles WHERE rolname = ANY ($1::text[]) OR rolname = current_user))
           AS counts
  FROM $schema.pg_stat_statements(false))
SELECT NULL AS key, NULL AS calls, NULL AS seconds, NULL AS squares, NULL AS ran,
       NULL AS others_ran, NULL AS others_new, entries, dealloc, stats_reset || ' ' || pg_postmaster_start_time(),
       CASE WHEN entries > $most OR cardinality($3::bigint[]) > 0 THEN coalesce(remembered, '{}') END,
       current_setting('compute_query_id'), current_setting('pg_stat_statements.track', true),
       of_rare
FROM $schema.pg_stat_statements_info, (
  SELECT count(*) AS entries,
         array_agg((key & ~16777215::bigint) | (calls & 16777215))
           FILTER (WHERE counts AND calls >= $4::bigint) AS remembered,
         sum(1 / greatest(calls, 1)::float8) FILTER (WHERE counts)
           / sum(1 / greatest(calls, 1)::float8) AS of_rare
  FROM entries) AS all_of_it
UNION ALL (
  SELECT key, calls, total_exec_time / 1e3,
         calls * (stddev_exec_time ^ 2 + mean_exec_time ^ 2) / 1e6, ran,
         sum(ran) FILTER (WHERE NOT is_compared) OVER (),
         count(*) FILTER (WHERE NOT is_compared AND is_new) OVER (),
         NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (
    SELECT entries.*, compared IS NOT NULL AS is_compared, remembered IS NULL AS is_new,
           CASE WHEN remembered IS NULL THEN calls - $5::bigint
                ELSE least((calls - remembered) & 16777215, calls) END AS ran
    FROM entries LEFT JOIN unnest($2::bigint[]) AS compared ON compared = key
      LEFT JOIN unnest($3::bigint[]) AS remembered ON remembered >> 24 = key >> 24
    WHERE counts) AS since
  WHERE is_compared OR ran > 0
  ORDER BY is_compared DESC, ran DESC LIMIT 2 * $most))sql";
constexpr size_t kKey = 0;
constexpr size_t kCalls = 1;
constexpr size_t kSeconds = 2;
constexpr size_t kSquares = 3;
constexpr size_t kRan = 4;
constexpr size_t kOthersRan = 5;
constexpr size_t kOthersNew = 6;
constexpr size_t kEntries = 7;
constexpr size_t kEvictions = 8;
constexpr size_t kSource = 9;
constexpr size_t kRemembered = 10;
constexpr size_t kComputesIds = 11;
constexpr size_t kTrack = 12;
constexpr size_t kOfRare = 13;

// As many entries PostgreSQL throws away at a time, or this share of them, if that is more.
constexpr double kLeastEvicted = 10, kEvictedShare = 0.05;
constexpr int64_t kNothingKnown = std::numeric_limits<int64_t>::max();

constexpr std::string_view kNone = "{}";  // an empty array
constexpr char kEntryKey[] = "hashint8extended(queryid, (userid::bigint << 32) | dbid::bigint)";

// 0 for what is no number, which none of these queries returns.
template <typename Number>
Number NumberIn(const Table& table, size_t column, size_t row = 0) {
  Number number = 0;
  const std::string text = table[row][column].value_or("");
  if constexpr (std::is_floating_point_v<Number>) {
    return absl::SimpleAtod(text, &number) ? number : 0;
  } else {
    return absl::SimpleAtoi(text, &number) ? number : 0;
  }
}

}  // namespace

WorkSampler::WorkSampler(const health::BatchWorkSpec& batch_work, size_t most_remembered)
    : roles_(PostgresArray(batch_work.roles)),
      application_names_(PostgresArray(LikePatterns(batch_work.application_names))),
      told_by_role_(batch_work.application_names.empty()),
      most_remembered_(most_remembered) {
  if (!told_by_role_) {
    missing_ = "batch_work names applications, which pg_stat_statements does not know; name roles";
  }
}

std::vector<Statement> WorkSampler::Statements(int64_t now_ns, health::StatementsWish wish,
                                               int server_version) {
  std::vector<Statement> statements = {
      {.label = "work", .sql = std::string(kWork), .parameters = {roles_, application_names_}}};
  asked_ = Asked::kNothing;
  if (!told_by_role_) return statements;
  if (schema_.empty() && now_ns >= look_at_ns_) {
    asked_ = Asked::kSchema;
    statements.push_back({.label = "pg_stat_statements", .sql = std::string(kSchema)});
  }
  if (schema_.empty() || !reading_.Allows(wish, now_ns)) return statements;
  asked_ = Asked::kStatements;
  const std::string key =
      server_version >= kStatsSinceVersion
          ? absl::StrCat("hashfloat8extended(date_part('epoch', stats_since), ", kEntryKey, ")")
          : kEntryKey;
  statements.push_back(
      {.label = "pg_stat_statements",
       .sql = absl::StrReplaceAll(
           absl::string_view(kStatements.data()),
           {{"$schema", schema_}, {"$key", key}, {"$most", absl::StrCat(StatementTotals::kMost)}}),
       .parameters = {roles_, absl::StrCat("{", absl::StrJoin(totals_.Compared(), ","), "}"),
                      remembered_, absl::StrCat(least_), absl::StrCat(forgotten_calls_)}});
  return statements;
}

absl::StatusOr<health::WorkCounters> WorkSampler::Read(
    absl::Span<const absl::StatusOr<Table>> tables, int64_t sampled_at_ns) {
  if (!tables[0].ok()) return tables[0].status();
  const Table& counted = *tables[0];
  health::WorkCounters work;
  work.sampled_at_ns = sampled_at_ns;
  work.next_xid = NumberIn<int64_t>(counted, kXmax);
  work.foreground_active = NumberIn<double>(counted, kForeground);
  work.batch_active = NumberIn<double>(counted, kBatch);
  if (asked_ == Asked::kSchema) ReadSchema(tables[1], sampled_at_ns);
  if (asked_ == Asked::kStatements) ReadStatements(tables[1], sampled_at_ns, work);
  work.statements_missing = missing_;
  work.statements_note = Note(sampled_at_ns);
  if (counted[0][kRoleIsShared] == "t") {
    work.statements.reset();
    work.statements_missing =
        "others log in with Headgate's role too, whose statements count as its";
  }
  return work;
}

void WorkSampler::ReadSchema(const absl::StatusOr<Table>& table, int64_t now_ns) {
  const bool found = table.ok() && !table->empty() && (*table)[0][0].has_value();
  if (found) {
    schema_ = *(*table)[0][0];
    missing_.clear();
  } else {
    look_at_ns_ = now_ns + kLookAgainNs;
    missing_ = table.ok()
                   ? "pg_stat_statements is not installed in this database, or older than 1.9"
                   : std::string(table.status().message());
  }
}

void WorkSampler::ReadStatements(const absl::StatusOr<Table>& table, int64_t now_ns,
                                 health::WorkCounters& work) {
  if (!table.ok() || table->empty()) {
    // Created but not loaded, or dropped.
    schema_.clear();
    totals_.Forget();
    Remember("");
    look_at_ns_ = now_ns + kLookAgainNs;
    missing_ =
        table.ok() ? "pg_stat_statements_info is empty" : std::string(table.status().message());
    return;
  }
  const bool knows_ran = remembered_ != kNone;
  std::vector<StatementTotals::Row> rows;
  size_t view = 0;  // the row that has no key
  for (size_t i = 0; i < table->size(); ++i) {
    const std::optional<std::string>& key = (*table)[i][kKey];
    if (!key.has_value()) view = i;
    if (!key.has_value()) continue;
    rows.push_back({.key = *key,
                    .calls = NumberIn<double>(*table, kCalls, i),
                    .seconds = NumberIn<double>(*table, kSeconds, i),
                    .squares = NumberIn<double>(*table, kSquares, i),
                    .ran = knows_ran ? NumberIn<double>(*table, kRan, i) : 0});
  }
  reading_.Spend(NumberIn<int64_t>(*table, kEntries, view), now_ns);
  const std::optional<double> others = OthersCalls(*table, view);
  const int64_t evictions = NumberIn<int64_t>(*table, kEvictions, view);
  forgets_ = evictions_ >= 0 && evictions > evictions_;
  evictions_ = evictions;
  entries_ = NumberIn<double>(*table, kEntries, view);
  const std::string source = (*table)[view][kSource].value_or("");
  const bool is_anew = source != source_;
  if (is_anew && !source_.empty()) anew_until_ns_ = now_ns + kAnewNs;
  totals_.Add(std::move(rows), source, static_cast<double>(now_ns - read_at_ns_) / 1e9);
  totals_.AddOthers(others);
  source_ = source;
  read_at_ns_ = now_ns;
  Remember((*table)[view][kRemembered].value_or(""));
  if (is_anew && remembered_ != kNone) least_ = 1;
  if (totals_.ran() > StatementTotals::kMost) crowded_until_ns_ = now_ns + kCrowdedNs;
  // Of settings it is Headgate's own that are known, and identifiers may come from elsewhere.
  missing_.clear();
  if (totals_.ran() == 0 && (*table)[view][kComputesIds] == "off") {
    missing_ = "compute_query_id is off, so that no statement is counted: set it to auto";
  } else if (totals_.ran() == 0 && (*table)[view][kTrack] == "none") {
    missing_ = "pg_stat_statements.track is none, so that no statement is counted: set it to top";
  }
  if (missing_.empty()) work.statements = totals_.counted();
}

// An entry that was made, and is not there any more, has run at least once. So many were made as
// there are more than before, and as were thrown away meanwhile.
std::optional<double> WorkSampler::OthersCalls(const Table& table, size_t view) const {
  if (forgotten_calls_ == kNothingKnown) return std::nullopt;
  const size_t any = view == 0 ? table.size() - 1 : 0;  // each has the same, if there is one
  const double ran = any == view ? 0 : NumberIn<double>(table, kOthersRan, any);
  const double still_there = any == view ? 0 : NumberIn<double>(table, kOthersNew, any);
  const int64_t evictions = NumberIn<int64_t>(table, kEvictions, view);
  if (evictions_ < 0 || evictions <= evictions_) return ran;
  const double entries = NumberIn<double>(table, kEntries, view);
  const double at_a_time =
      std::max(kLeastEvicted, std::floor(kEvictedShare * std::max(entries, entries_)));
  const double made = static_cast<double>(evictions - evictions_) * at_a_time + entries - entries_;
  const double of_foreground = NumberIn<double>(table, kOfRare, view);
  return ran + std::max(0.0, made * of_foreground - still_there);
}

void WorkSampler::Remember(std::string entries) {
  forgotten_calls_ = least_ - 1;
  if (entries.empty()) {  // all are compared
    least_ = 1;
    forgotten_calls_ = 0;
  } else if (entries.size() > most_remembered_) {
    least_ *= 2;
    forgotten_calls_ = kNothingKnown;  // only what is compared is asked for
    entries.clear();
  }
  remembered_ = entries.empty() ? std::string(kNone) : std::move(entries);
}

std::string WorkSampler::Note(int64_t now_ns) const {
  std::vector<std::string> notes;
  if (now_ns < anew_until_ns_) {
    notes.emplace_back(
        "pg_stat_statements was reset, or PostgreSQL restarted, a moment ago: its counts begin "
        "anew");
  }
  if (forgets_) {
    notes.emplace_back(
        "pg_stat_statements is full and forgets statements: raise pg_stat_statements.max");
  }
  if (now_ns < crowded_until_ns_) {
    notes.push_back(absl::StrCat("more than ", StatementTotals::kMost,
                                 " statements run: those that run most often are compared"));
  }
  return absl::StrJoin(notes, "; ");
}

}  // namespace headgate::postgres
