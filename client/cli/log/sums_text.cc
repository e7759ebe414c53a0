#include "client/cli/log/sums_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/log_filter.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/time_style.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

std::string Title(v1::LogGroup group) {
  switch (group) {
    case v1::LOG_GROUP_IDENTITY:
      return "WHO";
    case v1::LOG_GROUP_STEP:
      return "FROM";
    default:
      return v1::LogGroup_Name(group).substr(sizeof("LOG_GROUP_") - 1);
  }
}

std::string Value(const v1::LogSum& sum, v1::LogGroup group, const TimeStyle& style) {
  switch (group) {
    case v1::LOG_GROUP_IDENTITY:
      return sum.identity();
    case v1::LOG_GROUP_TARGET:
      return sum.target();
    case v1::LOG_GROUP_OUTCOME:
      return Word(sum.outcome());
    case v1::LOG_GROUP_REASON:
      return Word(sum.reason());
    case v1::LOG_GROUP_BUDGET:
      return sum.budget();
    case v1::LOG_GROUP_RULE:
      return sum.rule();
    case v1::LOG_GROUP_SIGNAL:
      return sum.signal();
    case v1::LOG_GROUP_SERVER:
      return sum.server();
    case v1::LOG_GROUP_STEP:
      return style.Text(FromProto(sum.from()));
    default:
      return "";
  }
}

// An empty value is shown too; it stands, for instance, for Checks that no signal was behind.
std::string OrDash(const std::string& value) { return value.empty() ? "-" : value; }

// How long its Checks waited: all together, each in the mean, and the longest.
void AddWaited(const v1::LogSum& sum, std::vector<Cell>& row) {
  const v1::Waiting& waiting = sum.waiting();
  const absl::Duration waited = FromProto(waiting.waited());
  for (const absl::Duration time :
       {waited, waited / ChecksThatWaited(waiting), FromProto(waiting.longest())}) {
    row.push_back({sum.has_waiting() ? ShortDuration(time) : ""});
  }
}

Table SumsTable(const v1::QueryThrottleLogResponse& sums, const LogArguments& log) {
  std::vector<absl::Time> times;
  bool warned = false;
  bool waited = false;
  bool meant = false;
  for (const v1::LogSum& sum : sums.sums()) {
    if (sum.has_from()) times.push_back(FromProto(sum.from()));
    warned = warned || sum.would_be_denied() > 0;
    waited = waited || sum.has_waiting();
    meant = meant || !sum.did_you_mean().empty();
  }
  const TimeStyle style(times, ZoneOf(log.past));
  std::vector<Column> columns;
  for (const v1::LogGroup group : log.by) columns.push_back({Title(group)});
  for (const char* title : {"CHECKS", "DENIED", "", "WOULD BE", "COST ALLOWED", "COST DENIED"}) {
    if (warned || std::string_view(title) != "WOULD BE") columns.push_back({title, Align::kRight});
  }
  if (waited) {
    for (const char* title : {"WAITED", "EACH", "AT MOST"}) {
      columns.push_back({title, Align::kRight});
    }
  }
  if (meant) columns.push_back({"DID YOU MEAN"});
  Table table(std::move(columns));
  for (const v1::LogSum& sum : sums.sums()) {
    std::vector<Cell> row;
    for (const v1::LogGroup group : log.by) row.push_back({OrDash(Value(sum, group, style))});
    const Paint paint = PaintOfDenied(sum.denied(), Checks(sum));
    row.push_back({absl::StrCat(Checks(sum))});
    row.push_back({absl::StrCat(sum.denied()), paint});
    row.push_back({Checks(sum) > 0 ? Percent(sum.denied(), Checks(sum)) : "", paint});
    if (warned) row.push_back({absl::StrCat(sum.would_be_denied())});
    row.push_back({ShortNumber(sum.allowed_cost())});
    row.push_back({ShortNumber(sum.denied_cost())});
    if (waited) AddWaited(sum, row);
    if (meant) row.push_back({sum.did_you_mean(), Paint::kWarn});
    table.Add(std::move(row));
  }
  return table;
}

}  // namespace

std::string FoldedText(int64_t checks) {
  if (checks == 0) return "";
  return absl::StrCat(checks, " Checks of too many identities at a time are counted under a level ",
                      "above their own\n");
}

std::string WaitingText(int64_t checks) {
  if (checks == 0) return "";
  return absl::StrCat(checks, " newer Checks are missing here, because the log's store is behind: ",
                      "headgate status says why\n");
}

std::string SumsText(const v1::QueryThrottleLogResponse& sums, const LogArguments& log,
                     Colours colours) {
  std::string text = SpanText(FromProto(sums.from()), FromProto(sums.to()), ZoneOf(log.past));
  if (sums.sums().empty()) {
    const bool unmatched = log.reasons.size() == 1 && log.reasons[0] == v1::REASON_UNMATCHED;
    return absl::StrCat(text,
                        unmatched ? ": every Check was matched by some rule.\n"
                                  : ": no such Check is in the log.\n",
                        WaitingText(sums.waiting_checks()));
  }
  absl::StrAppend(&text, "\n\n", SumsTable(sums, log).Text(colours));
  if (!sums.next_page_token().empty()) absl::StrAppend(&text, "and more\n");
  int64_t folded = 0;
  bool meant = false;
  for (const v1::LogSum& sum : sums.sums()) {
    folded += sum.folded();
    meant = meant || !sum.did_you_mean().empty();
  }
  absl::StrAppend(&text, FoldedText(folded), WaitingText(sums.waiting_checks()));
  if (meant) {
    absl::StrAppend(&text,
                    "\nidentities are case-sensitive: rules are for what is under DID YOU "
                    "MEAN, and limit nothing of what is under WHO\n");
  }
  return text;
}

}  // namespace headgate::cli
