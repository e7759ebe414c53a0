#include "server/postgres/work_sampler.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace headgate::postgres {
namespace {

constexpr int64_t kLookAgainNs = 30'000'000'000;
constexpr int kStatsSinceVersion = 170000;
constexpr int64_t kMostEntries = 5000;  // as the extension has it, where nobody asked for more

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

// $1: roles of batch work, $schema: of the extension, $since: what tells an entry from the one that
// was there before it was evicted. Without the statements' texts, which are in a file. Those that
// run most often are the foreground; a mean of squares is deviation^2 + mean^2.
constexpr std::string_view kStatements = R"sql(
SELECT key, calls, seconds, squares, entries, dealloc,
       stats_reset || ' ' || pg_postmaster_start_time()
FROM $schema.pg_stat_statements_info LEFT JOIN (
  SELECT userid || ' ' || dbid || ' ' || queryid$since AS key, calls,
         total_exec_time / 1e3 AS seconds,
         calls * (stddev_exec_time ^ 2 + mean_exec_time ^ 2) / 1e6 AS squares, entries
  FROM (SELECT *, count(*) OVER () AS entries FROM $schema.pg_stat_statements(false)) AS s
  WHERE toplevel AND queryid IS NOT NULL AND userid <> ALL (ARRAY(
    SELECT oid FROM pg_roles WHERE rolname = ANY ($1::text[]) OR rolname = current_user))
  ORDER BY calls DESC LIMIT 200) AS often ON true)sql";
constexpr size_t kKey = 0;
constexpr size_t kCalls = 1;
constexpr size_t kSeconds = 2;
constexpr size_t kSquares = 3;
constexpr size_t kEntries = 4;
constexpr size_t kEvictions = 5;
constexpr size_t kSource = 6;

// An array as PostgreSQL writes it: {"a","b"}.
std::string ArrayOf(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  quoted.reserve(values.size());
  for (const std::string& value : values) {
    quoted.push_back(
        absl::StrCat("\"", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\""));
  }
  return absl::StrCat("{", absl::StrJoin(quoted, ","), "}");
}

// '*' at the end matches any rest, and nothing else is special.
std::vector<std::string> PatternsOf(std::vector<std::string> names) {
  for (std::string& name : names) {
    const bool prefix = name.ends_with('*');
    if (prefix) name.pop_back();
    name = absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"%", "\\%"}, {"_", "\\_"}});
    if (prefix) name += '%';
  }
  return names;
}

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

WorkSampler::WorkSampler(const health::BatchWorkSpec& batch_work)
    : roles_(ArrayOf(batch_work.roles)),
      application_names_(ArrayOf(PatternsOf(batch_work.application_names))),
      told_by_role_(batch_work.application_names.empty()) {
  if (!told_by_role_) {
    missing_ = "batch_work names applications, which pg_stat_statements does not know; name roles";
  }
}

std::vector<Statement> WorkSampler::Statements(int64_t now_ns, health::StatementsWish wish,
                                               int server_version) {
  std::vector<Statement> statements = {{.label = "work",
                                        .sql = std::string(kWork),
                                        .name = "work",
                                        .parameters = {roles_, application_names_}}};
  asked_ = Asked::kNothing;
  if (!told_by_role_) return statements;
  if (schema_.empty() && now_ns >= look_at_ns_) {
    asked_ = Asked::kSchema;
    statements.push_back(
        {.label = "pg_stat_statements", .sql = std::string(kSchema), .name = "schema"});
  }
  if (schema_.empty() || !reading_.Allows(wish, now_ns)) return statements;
  asked_ = Asked::kStatements;
  const bool has_since = server_version >= kStatsSinceVersion;
  statements.push_back(
      {.label = "pg_stat_statements",
       .sql = absl::StrReplaceAll(
           absl::string_view(kStatements.data()),
           {{"$schema", schema_}, {"$since", has_since ? " || ' ' || stats_since" : ""}}),
       .name = absl::StrCat("statements in ", schema_),
       .parameters = {roles_}});
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
  work.statements_note = note_;
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
  if (!table.ok()) {
    // Created but not loaded, or dropped.
    schema_.clear();
    totals_.Forget();
    look_at_ns_ = now_ns + kLookAgainNs;
    missing_ = std::string(table.status().message());
    return;
  }
  missing_.clear();
  // Without any there is one row, whose key is absent.
  const bool has_rows = !table->empty() && (*table)[0][kKey].has_value();
  reading_.Spend(has_rows ? NumberIn<int64_t>(*table, kEntries) : kMostEntries, now_ns);
  std::vector<StatementTotals::Row> rows(has_rows ? table->size() : 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = {.key = (*table)[i][kKey].value_or(""),
               .calls = NumberIn<double>(*table, kCalls, i),
               .seconds = NumberIn<double>(*table, kSeconds, i),
               .squares = NumberIn<double>(*table, kSquares, i)};
  }
  std::string source;
  if (!table->empty()) {
    source = (*table)[0][kSource].value_or("");
    const int64_t evictions = NumberIn<int64_t>(*table, kEvictions);
    note_ = evictions_ >= 0 && evictions > evictions_
                ? "pg_stat_statements is full and forgets statements: raise pg_stat_statements.max"
                : "";
    evictions_ = evictions;
  }
  totals_.Add(std::move(rows), source, static_cast<double>(now_ns - read_at_ns_) / 1e9);
  read_at_ns_ = now_ns;
  work.statements = totals_.counted();
}

}  // namespace headgate::postgres
