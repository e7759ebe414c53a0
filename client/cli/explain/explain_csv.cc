#include "client/cli/explain/explain_csv.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

// One limit that denies, and what would have to change for it.
struct Refusal {
  const v1::Violation* violation;
  std::string advice;
  bool told = false;  // in a row
};

std::vector<Refusal> RefusalsOf(const v1::ExplainResponse& explanation) {
  std::vector<Refusal> refusals;
  for (const v1::Violation& violation : explanation.decision().violations()) {
    if (violation.warn()) continue;
    const int place = static_cast<int>(refusals.size());
    // An older server gives no advice.
    const bool advised = place < explanation.to_be_allowed_size();
    refusals.push_back({&violation, advised ? explanation.to_be_allowed(place) : std::string()});
  }
  return refusals;
}

// The last cells of every row.
std::vector<Cell> Ending(const v1::ExplainResponse& explanation, const std::string& ask_again,
                         const std::string& limit_kind, const std::string& advice) {
  return {{Word(explanation.decision().reason())},
          {ExactNumber(explanation.reject_ratio())},
          {ask_again},
          {limit_kind},
          {advice}};
}

std::vector<Cell> BucketRow(const v1::ExplainResponse& explanation, const v1::BucketState& bucket,
                            std::vector<Refusal>& refusals) {
  std::string kinds;
  std::string advice;
  for (Refusal& refusal : refusals) {
    if (refusal.violation->budget() != bucket.budget()) continue;
    absl::StrAppend(&kinds, kinds.empty() ? "" : "; ", Word(refusal.violation->limit_kind()));
    absl::StrAppend(&advice, advice.empty() ? "" : "; ", refusal.advice);
    refusal.told = true;
  }
  std::vector<Cell> row = {
      {Word(explanation.decision().verdict())},
      {bucket.budget()},
      {bucket.bucket()},
      {bucket.rule()},
      {ExactNumber(bucket.cost())},
      {ExactNumber(bucket.debt())},
      {bucket.has_burst() ? ExactNumber(bucket.burst()) : ""},
      {bucket.has_rate() ? ExactNumber(bucket.rate()) : ""},
      {ExactNumber(bucket.speed())},
      {bucket.has_max_cost() ? ExactNumber(bucket.max_cost()) : ""},
      {bucket.has_max_concurrency() ? absl::StrCat(bucket.outstanding()) : ""},
      {bucket.has_max_concurrency() ? absl::StrCat(bucket.max_concurrency()) : ""},
      {Seconds(bucket.has_room_in(), bucket.room_in())}};
  for (Cell& cell : Ending(explanation, bucket.ask_again() ? "true" : "false", kinds, advice)) {
    row.push_back(std::move(cell));
  }
  const bool owed = bucket.has_reported_debt();
  row.push_back({Word(bucket.unit())});
  row.push_back({Rfc3339(owed, bucket.reported_debt().reported_at())});
  row.push_back({owed ? ExactNumber(bucket.reported_debt().reported()) : ""});
  row.push_back({Seconds(owed, bucket.reported_debt().owed_for())});
  if (!bucket.has_line()) return row;
  const v1::LineState& line = bucket.line();
  row.push_back({absl::StrCat(line.waiting())});
  row.push_back({Seconds(line.has_longest_waited(), line.longest_waited())});
  row.push_back({absl::StrCat(line.position())});
  row.push_back({Seconds(line.has_expected_turn(), line.expected_turn())});
  row.push_back({ExactNumber(line.cost_ahead())});
  return row;
}

// `refusal` is null where nothing denies.
std::vector<Cell> PlainRow(const v1::ExplainResponse& explanation, const Refusal* refusal) {
  std::vector<Cell> row = {{Word(explanation.decision().verdict())},
                           {refusal == nullptr ? "" : refusal->violation->budget()},
                           {""},
                           {refusal == nullptr ? "" : refusal->violation->rule()}};
  constexpr size_t kOfBuckets = 13;
  row.resize(kOfBuckets);
  std::vector<Cell> ending =
      refusal == nullptr
          ? Ending(explanation, "", "", "")
          : Ending(explanation, "", Word(refusal->violation->limit_kind()), refusal->advice);
  for (Cell& cell : ending) row.push_back(std::move(cell));
  return row;
}

}  // namespace

Table ExplanationCsv(const v1::ExplainResponse& explanation) {
  Table table(Titles(
      "verdict,budget,bucket,rule,cost,debt,burst,rate,speed,max_cost,outstanding,max_"
      "concurrency,room_in_s,reason,reject_ratio,ask_again,limit_kind,advice,unit,owed_since,"
      "owed_report,owed_for_s,waiting,longest_waited_s,position,expected_turn_s,cost_ahead"));
  std::vector<Refusal> refusals = RefusalsOf(explanation);
  for (const v1::BucketState& bucket : explanation.buckets()) {
    table.Add(BucketRow(explanation, bucket, refusals));
  }
  bool denied_elsewhere = false;
  for (const Refusal& refusal : refusals) {
    if (refusal.told) continue;
    table.Add(PlainRow(explanation, &refusal));
    denied_elsewhere = true;
  }
  if (explanation.buckets().empty() && !denied_elsewhere) {
    table.Add(PlainRow(explanation, nullptr));
  }
  return table;
}

}  // namespace headgate::cli
