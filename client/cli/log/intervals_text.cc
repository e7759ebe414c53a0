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
  absl::Duration waited;
  v1::DenialCause worst;
};

// What was waited for longest comes first, then what denied the most.
std::vector<CauseSum> Causes(const Intervals& intervals) {
  std::vector<CauseSum> all;
  for (const v1::ThrottledInterval& interval : intervals) {
    for (const v1::DenialCause& cause : interval.causes()) {
      const std::string text = CauseText(cause);
      auto same = std::find_if(all.begin(), all.end(),
                               [&text](const CauseSum& known) { return known.text == text; });
      if (same == all.end()) same = all.insert(all.end(), {text, 0, {}, cause});
      same->denied += cause.denied();
      same->waited += FromProto(cause.waiting().waited());
      if (cause.peak() > same->worst.peak()) same->worst = cause;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const CauseSum& a, const CauseSum& b) {
    return std::pair(a.waited, a.denied) > std::pair(b.waited, b.denied);
  });
  return all;
}

// How much of it the first cause did: of the time that was waited, else of the denials.
double ShareOfFirst(const std::vector<CauseSum>& causes) {
  absl::Duration waited;
  int64_t denied = 0;
  for (const CauseSum& cause : causes) {
    waited += cause.waited;
    denied += cause.denied;
  }
  if (waited > absl::ZeroDuration()) return absl::FDivDuration(causes[0].waited, waited);
  return denied == 0 ? 1 : static_cast<double>(causes[0].denied) / static_cast<double>(denied);
}

std::string MainCause(const Intervals& intervals) {
  const std::vector<CauseSum> causes = Causes(intervals);
  if (causes.empty()) return "";
  if (causes.size() == 1) return absl::StrCat(", by ", causes[0].text);
  const double share = ShareOfFirst(causes);
  if (share > 0.5) return absl::StrCat(", mostly by ", causes[0].text);
  return absl::StrCat(", by several causes, most often by ", causes[0].text, " (",
                      RoundShareText(share), ")");
}

// "; 12 Checks waited 5m in all (25s each, 1m at most)"; nothing where none did.
std::string WaitedText(const v1::LogSum& sum) {
  const v1::Waiting& waiting = sum.waiting();
  const absl::Duration waited = FromProto(waiting.waited());
  if (waited <= absl::ZeroDuration()) return "";
  const int64_t checks = ChecksThatWaited(waiting);
  return absl::StrCat("; ", checks, checks == 1 ? " Check waited " : " Checks waited ",
                      ShortDuration(waited), checks == 1 ? "" : " in all", " (",
                      ShortDuration(waited / checks), " each, ",
                      ShortDuration(FromProto(waiting.longest())), " at most)");
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

std::string Summary(const Intervals& intervals, const LogTotals& totals, const LogArguments& log,
                    const std::string& target) {
  const v1::LogSum& sum = totals.sum;
  const std::string subject = SubjectText(log.past, target);
  const std::string waited = WaitedText(sum);
  if (Checks(sum) + totals.denied_else == 0 && waited.empty()) {
    return absl::StrCat("nothing of ", subject, " is in the log.");
  }
  const bool none = Checks(sum) == 0 && !IsNarrowed(log);
  const std::string counts = absl::StrCat(none              ? "no Check was decided"
                                          : IsNarrowed(log) ? TotalsOfSome(totals)
                                                            : Totals(sum),
                                          waited);
  if (!intervals.empty()) {
    return absl::StrCat(subject, " was held back for ", ShortDuration(Covered(intervals)),
                        MainCause(intervals), "; ", counts, ".");
  }
  const std::string share = ShareText(log.min_denied.value_or(kMinDenied));
  if (sum.denied() == 0 && !IsNarrowed(log)) {
    return absl::StrCat("no Check of ", subject, " was denied",
                        waited.empty() ? ", and none waited; "
                                       : absl::StrCat(", and at no time did one wait for ", share,
                                                      " of the time; "),
                        counts, ".");
  }
  return absl::StrCat(
      "at no time were ", share, " of the Checks of ", subject, " denied",
      IsNarrowed(log) ? " like that" : "",
      waited.empty() ? "; " : absl::StrCat(", nor did one wait for ", share, " of the time; "),
      counts, ".");
}

Cell Denied(const v1::ThrottledInterval& interval) {
  if (ChecksIn(interval) == 0) return {""};
  return {Percent(interval.denied(), ChecksIn(interval)),
          PaintOfDenied(interval.denied(), ChecksIn(interval))};
}

std::string By(const std::vector<CauseSum>& causes) {
  if (causes.empty()) return "";
  if (causes.size() == 1) return causes[0].text;
  return absl::StrCat(causes[0].text, " (", RoundShareText(ShareOfFirst(causes)), "), ",
                      causes.size() - 1, " more");
}

// "82 %" of the time, and how long each of its Checks waited in the mean.
Cell Waited(const v1::ThrottledInterval& interval) {
  if (!interval.has_waiting()) return {""};
  return {RoundShareText(interval.waited_ratio()), PaintOfShare(interval.waited_ratio())};
}
Cell WaitedEach(const v1::ThrottledInterval& interval) {
  if (!interval.has_waiting()) return {""};
  return {
      ShortDuration(FromProto(interval.waiting().waited()) / ChecksThatWaited(interval.waiting()))};
}

Table IntervalsTable(const Intervals& intervals, absl::TimeZone zone) {
  std::vector<absl::Time> times;
  bool targets = false;
  bool waited = false;
  for (const v1::ThrottledInterval& interval : intervals) {
    waited = waited || interval.has_waiting();
    times.push_back(FromProto(interval.from()));
    times.push_back(FromProto(interval.to()));
    targets = targets || interval.target() != intervals[0].target();
  }
  const TimeStyle style(times, zone);
  Table table(Titles(absl::StrCat("WHEN,>FOR,WHO,", waited ? ">WAITED,>EACH," : "",
                                  ">DENIED,>OF CHECKS,BY,AT WORST,", targets ? "TARGET" : "")));
  for (const v1::ThrottledInterval& interval : intervals) {
    const absl::Time from = FromProto(interval.from());
    const absl::Time to = FromProto(interval.to());
    Intervals alone;
    *alone.Add() = interval;
    const std::vector<CauseSum> causes = Causes(alone);
    std::vector<Cell> row = {
        {style.Range(from, to)}, {ShortDuration(to - from)}, {interval.identity()}};
    if (waited) {
      row.push_back(Waited(interval));
      row.push_back(WaitedEach(interval));
    }
    row.push_back(Denied(interval));
    row.push_back({absl::StrCat(ChecksIn(interval))});
    row.push_back({By(causes)});
    row.push_back({causes.empty() ? "" : PeakText(causes[0].worst)});
    row.push_back({targets ? interval.target() : ""});
    table.Add(std::move(row));
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
