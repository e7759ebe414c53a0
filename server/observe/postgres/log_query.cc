#include "server/observe/postgres/log_query.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <pqxx/result>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/observe/postgres/log_waits.h"
#include "server/remember/throttle_log/row_filter.h"

namespace headgate::postgres {
namespace {

using throttle_log::Row;
using throttle_log::ScanFilter;

constexpr char kFetch[] = "FETCH 5000 FROM headgate_rows";
constexpr char kNameColumns[] =
    "identity, target, folded, server, outcome, reason, limit_kind, budget, rule, signal";
constexpr int64_t kMaxSeconds = int64_t{1} << 40;  // beyond, PostgreSQL has no timestamps

// Conditions, and the ids that fulfil them where they narrow things down.
class Conditions {
 public:
  explicit Conditions(const std::string& table) : table_(table) {}

  void Add(std::string condition) { all_.push_back(std::move(condition)); }

  // " AND who = ANY(...)", or nothing.
  std::string On(const std::string& column) const {
    if (all_.empty()) return "";
    return absl::StrCat(" AND ", column, " = ANY(ARRAY(SELECT id FROM headgate_log.", table_,
                        " WHERE ", absl::StrJoin(all_, " AND "), "))");
  }

 private:
  const std::string table_;
  std::vector<std::string> all_;
};

std::string WhoCondition(const pqxx::work& work, const ScanFilter& filter) {
  Conditions conditions("whos");
  if (!filter.identity.empty()) {
    const std::string path = throttle_log::PathOf(filter.identity);
    conditions.Add(absl::StrCat("(path = ", work.quote(path),
                                " OR path >= ", work.quote(path + ":"), " AND path < ",
                                work.quote(path + ";"), ")"));
  }
  if (!filter.segment.empty()) {
    conditions.Add(absl::StrCat(work.quote(filter.segment), " = ANY(string_to_array(path, ':'))"));
  }
  if (!filter.target.empty()) conditions.Add("target = " + work.quote(filter.target));
  if (!filter.server.empty()) conditions.Add("server = " + work.quote(filter.server));
  return conditions.On("who");
}

template <typename Enum>
void AddIn(Conditions& conditions, const std::string& column, const std::vector<Enum>& values) {
  if (values.empty()) return;
  const auto number = [](std::string* out, Enum value) {
    absl::StrAppend(out, static_cast<int>(value));
  };
  conditions.Add(absl::StrCat(column, " IN (", absl::StrJoin(values, ", ", number), ")"));
}

std::string WhatCondition(const pqxx::work& work, const ScanFilter& filter) {
  Conditions conditions("whats");
  AddIn(conditions, "outcome", filter.outcomes);
  AddIn(conditions, "reason", filter.reasons);
  const auto quoted = [&](std::string* out, const std::string& text) {
    out->append(work.quote(text));
  };
  if (!filter.budgets.empty()) {
    conditions.Add(absl::StrCat("budget IN (", absl::StrJoin(filter.budgets, ", ", quoted), ")"));
  }
  if (!filter.signals.empty()) {
    conditions.Add(absl::StrCat("EXISTS (SELECT FROM unnest(ARRAY[",
                                absl::StrJoin(filter.signals, ", ", quoted),
                                "]::text[]) AS s WHERE signal = s OR starts_with(signal, s || ' "
                                "on '))"));
  }
  return conditions.On("what");
}

std::string Timestamp(int64_t seconds) {
  return absl::StrCat("to_timestamp(", std::clamp<int64_t>(seconds, 0, kMaxSeconds), ")");
}

// The beginning of the time that a step is summed up to.
std::string BucketSql(const ScanFilter& filter) {
  if (filter.sum_over_s > filter.to_s - filter.from_s)
    return absl::StrCat(filter.from_s, "::bigint");
  std::string at = "extract(epoch FROM at)::bigint";
  if (filter.sum_over_s <= 0) return at;
  return absl::StrCat(at, " / ", filter.sum_over_s, " * ", filter.sum_over_s);
}

std::string LengthSql(const ScanFilter& filter) {
  if (filter.sum_over_s <= 0) return "step_s";
  return absl::StrCat(std::min({filter.sum_over_s, filter.to_s - filter.from_s,
                                int64_t{std::numeric_limits<int32_t>::max()}}),
                      "::int");
}

// Summed up by number first, and then by name, since names differ in the length of their steps too.
std::string Sql(const pqxx::work& work, const ScanFilter& filter) {
  const std::string where =
      absl::StrCat(" WHERE at >= ", Timestamp(filter.from_s), " AND at < ", Timestamp(filter.to_s),
                   WhoCondition(work, filter), WhatCondition(work, filter));
  const auto numbers = [&](const char* table) {
    return absl::StrCat("SELECT ", BucketSql(filter),
                        " AS bucket, who, what, sum(checks) AS checks, sum(cost) AS cost,"
                        " max(ARRAY[peak, threshold]) AS peak, ",
                        WaitSums(), " FROM headgate_log.", table, where, " GROUP BY 1, 2, 3");
  };
  return absl::StrCat("SELECT bucket, ", LengthSql(filter), " AS length, ", kNameColumns,
                      ", sum(checks)::bigint, sum(cost), (max(peak))[1], (max(peak))[2], ",
                      WaitSums(), " FROM (", numbers("fine"), " UNION ALL ", numbers("coarse"),
                      ") AS counts JOIN headgate_log.whos ON whos.id = who"
                      " JOIN headgate_log.whats ON whats.id = what GROUP BY bucket, length, ",
                      kNameColumns,
                      " ORDER BY bucket, identity, target, folded, server, length,"
                      " outcome, reason, limit_kind, budget, rule, signal");
}

double Number(const pqxx::field& field) {
  double value = 0;
  return absl::SimpleAtod(field.c_str(), &value) ? value : 0;
}

Row RowOf(const pqxx::row& columns) {
  Row row;
  int i = 0;
  const auto next = [&] { return columns[i++]; };
  row.step_s = next().as<int64_t>();
  row.length_s = next().as<int32_t>();
  row.key.identity = next().c_str();
  row.key.target = next().c_str();
  row.key.folded = next().as<bool>();
  row.key.server = next().c_str();
  row.key.outcome = static_cast<throttle_log::Outcome>(next().as<int>());
  row.key.cause.reason = static_cast<engine::Reason>(next().as<int>());
  row.key.cause.limit = static_cast<engine::Limit>(next().as<int>());
  row.key.cause.budget = next().c_str();
  row.key.cause.rule = next().c_str();
  row.key.cause.signal = next().c_str();
  row.counts.checks = next().as<int64_t>();
  row.counts.cost = Number(next());
  row.counts.peak = Number(next());
  row.counts.limit = Number(next());
  if (columns[i].is_null()) return row;
  throttle_log::WaitNumbers numbers;
  for (int64_t& number : numbers) number = next().as<int64_t>();
  row.counts.waits.Add(throttle_log::WaitsOf(numbers));
  return row;
}

}  // namespace

absl::Status LogQuery::Start(Session& session) {
  is_empty_ = filter_.from_s >= filter_.to_s;
  if (is_empty_) return absl::OkStatus();
  return session.Do(StepDeadline(), [&](AdoptedConnection& connection) {
    work_ = nullptr;
    work_ = std::make_unique<pqxx::work>(connection);
    work_->exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    session.MakeSettings(*work_);
    is_empty_ = work_->exec1("SELECT to_regclass('headgate_log.version') IS NULL")[0].as<bool>();
    if (is_empty_) return;
    work_->exec(absl::StrCat("DECLARE headgate_rows NO SCROLL CURSOR FOR ", Sql(*work_, filter_)));
  });
}

// The visitor takes its time outside of the session's calls.
absl::Status LogQuery::Read(Session& session, absl::FunctionRef<bool(const Row&)> visit) {
  if (is_empty_) return absl::OkStatus();
  for (;;) {
    std::vector<Row> rows;
    absl::Status status = session.Do(StepDeadline(), [&](AdoptedConnection&) {
      for (const auto& columns : work_->exec(kFetch)) rows.push_back(RowOf(columns));
    });
    if (!status.ok()) return status;
    for (const Row& row : rows) {
      if (!visit(row)) return absl::OkStatus();
    }
    if (rows.empty()) return absl::OkStatus();
  }
}

void LogQuery::End(Session& session) {
  if (work_ != nullptr)
    session.Do(StepDeadline(), [&](AdoptedConnection&) { work_ = nullptr; }).IgnoreError();
}

}  // namespace headgate::postgres
