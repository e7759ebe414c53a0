#include "client/cli/log/denial_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/log/cause_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

// The time with milliseconds, because denials are no further apart.
std::string At(const v1::Denial& denial, absl::TimeZone zone) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3S", FromProto(denial.at()), zone);
}

std::string RetryAfter(const v1::Denial& denial) {
  if (denial.outcome() != v1::OUTCOME_DENIED) return "";
  return denial.has_retry_after() ? ShortDuration(FromProto(denial.retry_after())) : "never";
}

Paint PaintOfOutcome(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_DENIED ? Paint::kBad : Paint::kWarn;
}

template <typename List, typename Value>
bool Takes(const List& list, const Value& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

// A signal's name without a server means the signal on every server.
bool TakesSignal(const v1::LogFilter& filter, const std::string& signal) {
  return filter.signals().empty() ||
         std::any_of(filter.signals().begin(), filter.signals().end(), [&](const auto& wanted) {
           return signal == wanted || signal.starts_with(wanted + " on ");
         });
}

bool HasSegment(const std::string& identity, const std::string& segment) {
  const std::vector<std::string> segments = absl::StrSplit(identity, ':');
  return std::find(segments.begin(), segments.end(), segment) != segments.end();
}

}  // namespace

bool Matches(const v1::Denial& denial, const v1::LogFilter& filter) {
  const absl::Time at = FromProto(denial.at());
  if (filter.has_from() && at < FromProto(filter.from())) return false;
  if (filter.has_to() && at >= FromProto(filter.to())) return false;
  const std::string& who = denial.identity();
  if (!filter.identity().empty() && who != filter.identity() &&
      !who.ends_with(":" + filter.identity())) {
    return false;
  }
  if (!filter.target().empty() && denial.target() != filter.target()) return false;
  if (!filter.segment().empty() && !HasSegment(denial.identity(), filter.segment())) return false;
  return Takes(filter.outcomes(), static_cast<int>(denial.outcome())) &&
         Takes(filter.reasons(), static_cast<int>(denial.cause().reason())) &&
         Takes(filter.budgets(), denial.cause().budget()) &&
         TakesSignal(filter, denial.cause().signal());
}

std::string DenialsText(const v1::ListDenialsResponse& response, absl::TimeZone zone,
                        Colours colours) {
  Table table(
      Titles(absl::StrCat(absl::FormatTime("AT (%Z)", FromProto(response.denials(0).at()), zone),
                          ",WHO,OUTCOME,>COST,BY,OBSERVED,>RETRY AFTER,TARGET")));
  for (const v1::Denial& denial : response.denials()) {
    table.Add({{At(denial, zone)},
               {denial.identity()},
               {Word(denial.outcome()), PaintOfOutcome(denial.outcome())},
               {ShortNumber(denial.predicted_cost())},
               {CauseText(denial.cause())},
               {PeakText(denial.cause())},
               {RetryAfter(denial)},
               {denial.target()}});
  }
  return table.Text(colours);
}

std::string DenialLine(const v1::Denial& denial, absl::TimeZone zone, Colours colours) {
  std::string why = CauseText(denial.cause());
  const std::string observed = PeakText(denial.cause());
  if (!observed.empty()) absl::StrAppend(&why, ", ", observed);
  return absl::StrCat(At(denial, zone), "  ",
                      Painted(Word(denial.outcome()), PaintOfOutcome(denial.outcome()), colours),
                      "  ", Escaped(denial.identity()),
                      denial.target().empty() ? "" : absl::StrCat(" on ", Escaped(denial.target())),
                      "  by ", Escaped(why), "; cost ", ShortNumber(denial.predicted_cost()),
                      denial.outcome() != v1::OUTCOME_DENIED ? ""
                      : denial.has_retry_after()
                          ? absl::StrCat(", retry after ", RetryAfter(denial))
                          : ", waiting will not help");
}

}  // namespace headgate::cli
