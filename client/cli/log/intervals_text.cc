#include "client/cli/log/intervals_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/log_filter.h"
#include "client/cli/log/cause_text.h"
#include "client/cli/log/sums_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/time_style.h"
#include "client/cli/output/value_text.h"
#include "common/share_text.h"

namespace headgate::cli {
namespace {

constexpr double kMinDenied = 0.5;  // the server's
constexpr int kManyIntervals = 20;

using Intervals = google::protobuf::RepeatedPtrField<v1::ThrottledInterval>;

int64_t ChecksIn(const v1::ThrottledInterval& interval) {
  return interval.allowed() + interval.denied();
}

// For how long at least one of the intervals lasted.
absl::Duration Covered(const Intervals& intervals) {
  std::vector<std::pair<absl::Time, absl::Time>> spans;
  for (const v1::ThrottledInterval& interval : intervals) {
    spans.emplace_back(FromProto(interval.from()), FromProto(interval.to()));
  }
  std::sort(spans.begin(), spans.end());
  absl::Duration covered;
  absl::Time end = absl::InfinitePast();
  for (const auto& [from, to] : spans) {
    if (to > end) covered += to - std::max(from, end);
    end = std::max(end, to);
  }
  return covered;
}

// All causes that have the same text, summed up.
struct CauseSum {
  std::string text;
  int64_t denied = 0;
  v1::DenialCause worst;
};

// Sorted by denials; the cause that denied the most comes first.
std::vector<CauseSum> Causes(const Intervals& intervals) {
  std::vector<CauseSum> all;
  for (const v1::ThrottledInterval& interval : intervals) {
    for (const v1::DenialCause& cause : interval.causes()) {
      const std::string text = CauseText(cause);
      auto same = std::find_if(all.begin(), all.end(),
                               [&text](const CauseSum& known) { return known.text == text; });
      if (same == all.end()) same = all.insert(all.end(), {text, 0, cause});
      same->denied += cause.denied();
      if (cause.peak() > same->worst.peak()) same->worst = cause;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const CauseSum& a, const CauseSum& b) { return a.denied > b.denied; });
  return all;
}

std::string MainCause(const Intervals& intervals) {
  const std::vector<CauseSum> causes = Causes(intervals);
  if (causes.empty()) return "";
  if (causes.size() == 1) return absl::StrCat(", by ", causes[0].text);
  int64_t denied = 0;
  for (const CauseSum& cause : causes) denied += cause.denied;
  if (2 * causes[0].denied > denied) return absl::StrCat(", mostly by ", causes[0].text);
  return absl::StrCat(", by several causes, most often by ", causes[0].text, " (",
                      Percent(causes[0].denied, denied), ")");
}

// "1422 of 2980 Checks were denied (48 %)", and those that a WARN budget would have.
std::string Totals(const v1::LogSum& sum) {
  const int64_t all = Checks(sum);
  std::string text = sum.denied() == 0
                         ? (all == 1 ? "the one Check was allowed"
                                     : absl::StrCat("all ", all, " Checks were allowed"))
                         : absl::StrCat(sum.denied(), " of ", all, " Checks were denied (",
                                        Percent(sum.denied(), all), ")");
  if (sum.would_be_denied() > 0) {
    absl::StrAppend(&text, ", and budgets that only WARN would have denied ",
                    sum.would_be_denied());
  }
  return text;
}

// The same where only some causes are asked for: what other causes denied is counted apart.
std::string TotalsOfSome(const LogTotals& totals) {
  const int64_t all = Checks(totals.sum);
  std::string text = absl::StrCat(totals.sum.denied(), " of ", all, " Checks were so denied");
  if (all > 0) absl::StrAppend(&text, " (", Percent(totals.sum.denied(), all), ")");
  if (totals.denied_else > 0) {
    absl::StrAppend(&text, ", not counting ", totals.denied_else, " that something else denied");
  }
  return text;
}

// The subject of a sentence: "job-7:etl on main", "work".
std::string SubjectText(const PastArguments& past, const std::string& target) {
  std::string text = !past.identity.empty()  ? past.identity
                     : !past.segment.empty() ? absl::StrCat("segment ", past.segment)
                                             : "work";
  if (!target.empty()) absl::StrAppend(&text, " on ", target);
  return text;
}

// A job that only waited was held back as well, and what made it wait is not counted.
constexpr char kWaits[] = "; how long Checks waited is not in this log.";

std::string Summary(const Intervals& intervals, const LogTotals& totals, const LogArguments& log,
                    const std::string& target) {
  const v1::LogSum& sum = totals.sum;
  const std::string subject = SubjectText(log.past, target);
  if (Checks(sum) + totals.denied_else == 0) {
    return absl::StrCat("nothing of ", subject,
                        " is in the log; a Check that waits is counted once it is decided.");
  }
  const std::string counts = IsNarrowed(log) ? TotalsOfSome(totals) : Totals(sum);
  if (!intervals.empty()) {
    return absl::StrCat(subject, " was held back for ", ShortDuration(Covered(intervals)),
                        MainCause(intervals), "; ", counts, ".");
  }
  const std::string share = ShareText(log.min_denied.value_or(kMinDenied));
  if (sum.denied() == 0 && !IsNarrowed(log)) {
    return absl::StrCat("no Check of ", subject, " was denied; ", counts, kWaits);
  }
  return absl::StrCat("at no time were ", share, " of the Checks of ", subject, " denied",
                      IsNarrowed(log) ? " like that; " : "; ", counts, kWaits);
}

Cell Denied(const v1::ThrottledInterval& interval) {
  return {Percent(interval.denied(), ChecksIn(interval)),
          PaintOfDenied(interval.denied(), ChecksIn(interval))};
}

std::string By(const std::vector<CauseSum>& causes, int64_t denied) {
  if (causes.empty()) return "";
  if (causes.size() == 1) return causes[0].text;
  return absl::StrCat(causes[0].text, " (", Percent(causes[0].denied, denied), "), ",
                      causes.size() - 1, " more");
}

Table IntervalsTable(const Intervals& intervals, absl::TimeZone zone) {
  std::vector<absl::Time> times;
  bool targets = false;
  for (const v1::ThrottledInterval& interval : intervals) {
    times.push_back(FromProto(interval.from()));
    times.push_back(FromProto(interval.to()));
    targets = targets || interval.target() != intervals[0].target();
  }
  const TimeStyle style(times, zone);
  Table table(Titles(
      absl::StrCat("WHEN,>FOR,WHO,>DENIED,>OF CHECKS,BY,AT WORST,", targets ? "TARGET" : "")));
  for (const v1::ThrottledInterval& interval : intervals) {
    const absl::Time from = FromProto(interval.from());
    const absl::Time to = FromProto(interval.to());
    Intervals alone;
    *alone.Add() = interval;
    const std::vector<CauseSum> causes = Causes(alone);
    table.Add({{style.Range(from, to)},
               {ShortDuration(to - from)},
               {interval.identity()},
               Denied(interval),
               {absl::StrCat(ChecksIn(interval))},
               {By(causes, interval.denied())},
               {causes.empty() ? "" : PeakText(causes[0].worst)},
               {targets ? interval.target() : ""}});
  }
  return table;
}

}  // namespace

std::string IntervalsText(const v1::ListThrottledIntervalsResponse& response,
                          const LogTotals& totals, const LogArguments& log,
                          const std::string& target, Colours colours) {
  const absl::TimeZone zone = ZoneOf(log.past);
  const Intervals& intervals = response.intervals();
  std::string text = absl::StrCat(SpanText(totals.from, totals.to, zone), ": ",
                                  Escaped(Summary(intervals, totals, log, target)), "\n");
  absl::StrAppend(&text, FoldedText(totals.sum.folded()), WaitingText(response.waiting_checks()));
  if (intervals.empty()) return text;
  const int shown = std::min(log.past.limit.value_or(intervals.size()), intervals.size());
  const Intervals first(intervals.begin(), intervals.begin() + shown);
  absl::StrAppend(&text, "\n", IntervalsTable(first, zone).Text(colours));
  if (shown < intervals.size()) absl::StrAppend(&text, "and ", intervals.size() - shown, " more\n");
  if (shown > kManyIntervals && log.level == 0) {
    absl::StrAppend(&text, "\n--level 1 shows what belongs to one root as one\n");
  }
  return text;
}

}  // namespace headgate::cli
