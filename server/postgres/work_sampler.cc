#include "server/postgres/work_sampler.h"

#include <cstddef>
#include <functional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace headgate::postgres {
namespace {

constexpr int64_t kLookAgainNs = 30'000'000'000;
// 2.5 µs an entry, 3 % of the time.
constexpr int64_t kPauseForEntryNs = 83'000;

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

// $1: roles of batch work, $schema: of the extension. Without the statements' texts, which are in
// a file.
constexpr std::string_view kStatements = R"sql(
SELECT coalesce(sum(calls) FILTER (WHERE counts), 0),
       coalesce(sum(total_exec_time) FILTER (WHERE counts), 0) / 1000,
       count(*),
       (SELECT dealloc || ' ' || stats_reset FROM $schema.pg_stat_statements_info)
         || ' ' || pg_postmaster_start_time()
FROM (SELECT calls, total_exec_time, toplevel AND userid <> ALL (ARRAY(
        SELECT oid FROM pg_roles WHERE rolname = ANY ($1::text[]) OR rolname = current_user))
        AS counts
      FROM $schema.pg_stat_statements(false)) AS s)sql";
constexpr size_t kCalls = 0;
constexpr size_t kBusySeconds = 1;
constexpr size_t kEntries = 2;
constexpr size_t kGeneration = 3;

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
Number NumberIn(const Table& table, size_t column) {
  Number number = 0;
  const std::string text = table[0][column].value_or("");
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
      told_by_role_(batch_work.application_names.empty()) {}

std::vector<Statement> WorkSampler::Statements(int64_t now_ns) {
  std::vector<Statement> statements = {{.label = "work",
                                        .sql = std::string(kWork),
                                        .name = "work",
                                        .parameters = {roles_, application_names_}}};
  asked_ = Asked::kNothing;
  if (!told_by_role_ || now_ns < ask_at_ns_) return statements;
  if (schema_.empty()) {
    asked_ = Asked::kSchema;
    statements.push_back(
        {.label = "pg_stat_statements", .sql = std::string(kSchema), .name = "schema"});
    return statements;
  }
  asked_ = Asked::kStatements;
  statements.push_back(
      {.label = "pg_stat_statements",
       .sql = absl::StrReplaceAll(absl::string_view(kStatements.data()), {{"$schema", schema_}}),
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
  if (counted[0][kRoleIsShared] == "t") work.statements.reset();
  return work;
}

void WorkSampler::ReadSchema(const absl::StatusOr<Table>& table, int64_t now_ns) {
  const bool found = table.ok() && !table->empty() && (*table)[0][0].has_value();
  if (found) schema_ = *(*table)[0][0];
  if (!found) ask_at_ns_ = now_ns + kLookAgainNs;
}

void WorkSampler::ReadStatements(const absl::StatusOr<Table>& table, int64_t now_ns,
                                 health::WorkCounters& work) {
  if (!table.ok() || table->empty()) {
    // Created but not loaded, or dropped.
    schema_.clear();
    ask_at_ns_ = now_ns + kLookAgainNs;
    return;
  }
  const double calls = NumberIn<double>(*table, kCalls);
  if (calls < calls_) ++decreases_;
  calls_ = calls;
  const std::string generation = (*table)[0][kGeneration].value_or("");
  work.statements = {.calls = calls,
                     .busy_seconds = NumberIn<double>(*table, kBusySeconds),
                     .generation = static_cast<int64_t>(
                         std::hash<std::string>()(absl::StrCat(generation, " ", decreases_)))};
  ask_at_ns_ = now_ns + NumberIn<int64_t>(*table, kEntries) * kPauseForEntryNs;
}

}  // namespace headgate::postgres
