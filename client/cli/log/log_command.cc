// headgate log: what was held back, when, and by what.

#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/log_filter.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/connection/fetch_pages.h"
#include "client/cli/log/denial_text.h"
#include "client/cli/log/heat_strip.h"
#include "client/cli/log/intervals_text.h"
#include "client/cli/log/log_csv.h"
#include "client/cli/log/log_follow.h"
#include "client/cli/log/sums_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal.h"
#include "client/cli/process/signal_inbox.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

using LogStub = v1::ThrottleLogService::Stub;

// As the server has them.
constexpr int kMaxSums = 10'000;
constexpr int kMaxIntervals = 1'000;

// One question about the log, and everything that it takes to answer it.
struct Question {
  const LogArguments& log;
  const Globals& globals;
  const v1::LogFilter& filter;
  const absl::Time now;
  Connection& connection;
  const Console& console;
};

// Everything that was asked for by these identities, whatever became of it.
v1::QueryThrottleLogRequest TotalRequest(const v1::LogFilter& filter) {
  v1::QueryThrottleLogRequest request;
  *request.mutable_filter() = filter;
  request.mutable_filter()->clear_reasons();
  request.mutable_filter()->clear_budgets();
  request.mutable_filter()->clear_signals();
  return request;
}

// Where the question names causes, what they denied is counted apart from what others denied.
absl::StatusOr<LogTotals> FetchTotals(const Question& question) {
  const auto total =
      question.connection.Call(&LogStub::QueryThrottleLog, TotalRequest(question.filter));
  if (!total.ok()) return total.status();
  LogTotals totals{.from = FromProto(total->from()), .to = FromProto(total->to())};
  if (!total->sums().empty()) totals.sum = total->sums(0);
  if (!IsNarrowed(question.log)) return totals;
  v1::QueryThrottleLogRequest request;
  *request.mutable_filter() = question.filter;
  request.mutable_filter()->add_outcomes(v1::OUTCOME_DENIED);
  request.mutable_filter()->add_outcomes(v1::OUTCOME_WAITED);
  const auto denied = question.connection.Call(&LogStub::QueryThrottleLog, request);
  if (!denied.ok()) return denied.status();
  const int64_t by_it = denied->sums().empty() ? 0 : denied->sums(0).denied();
  totals.sum.clear_waiting();
  if (!denied->sums().empty()) *totals.sum.mutable_waiting() = denied->sums(0).waiting();
  // Between the two calls the log may have grown, so the difference may be negative.
  totals.denied_else = std::max<int64_t>(totals.sum.denied() - by_it, 0);
  totals.sum.set_denied(by_it);
  return totals;
}

int ShowIntervals(const Question& question) {
  v1::ListThrottledIntervalsRequest request;
  *request.mutable_filter() = question.filter;
  request.set_level(question.log.level);
  if (question.log.min_denied) request.set_min_denied_ratio(*question.log.min_denied);
  // The table's headline sums up all intervals, so none may be missing.
  const bool table = question.console.format == Format::kTable;
  const auto intervals = FetchPages(
      question.connection, &LogStub::ListThrottledIntervals, request,
      {.max_in_page = kMaxIntervals, .limit = table ? std::nullopt : question.log.past.limit},
      [](const auto& page) { return page.intervals_size(); });
  if (!intervals.ok()) return ToInt(question.console.Fail(intervals.status()));
  absl::StatusOr<LogTotals> totals = LogTotals{};
  if (table) totals = FetchTotals(question);
  if (!totals.ok()) return ToInt(question.console.Fail(totals.status()));
  const auto text = [&] {
    return IntervalsText(*intervals, *totals, question.log, question.globals.target,
                         question.console.colours);
  };
  return question.console.Print(*intervals, text, [&] { return IntervalsCsv(*intervals); });
}

absl::StatusOr<v1::QueryThrottleLogResponse> FetchSums(const Question& question,
                                                       const v1::QueryThrottleLogRequest& request,
                                                       std::optional<int> limit) {
  return FetchPages(question.connection, &LogStub::QueryThrottleLog, request,
                    {.max_in_page = kMaxSums, .limit = limit},
                    [](const auto& page) { return page.sums_size(); });
}

int ShowSums(const Question& question) {
  v1::QueryThrottleLogRequest request;
  *request.mutable_filter() = question.filter;
  for (const v1::LogGroup group : question.log.by) request.add_group_by(group);
  request.set_level(question.log.level);
  if (question.log.step) {
    request.mutable_step()->set_seconds(absl::ToInt64Seconds(*question.log.step));
  }
  request.set_order(question.log.order);
  const auto sums = FetchSums(question, request, question.log.past.limit);
  if (!sums.ok()) return ToInt(question.console.Fail(sums.status()));
  const auto text = [&] { return SumsText(*sums, question.log, question.console.colours); };
  return question.console.Print(*sums, text, [&] { return SumsCsv(*sums); });
}

// InvalidArgument where there are too many steps for a strip.
absl::StatusOr<HeatOptions> HeatOptionsOf(const Question& question) {
  const v1::LogFilter& filter = question.filter;
  const absl::Time to = filter.has_to() ? FromProto(filter.to()) : question.now;
  // As the server has it.
  const absl::Time from = filter.has_from() ? FromProto(filter.from()) : to - absl::Hours(1);
  HeatOptions options;
  options.columns = TerminalColumns();
  options.zone = ZoneOf(question.log.past);
  const LogAge age = question.now - from > absl::Hours(24) ? LogAge::kCoarse : LogAge::kFresh;
  options.step = question.log.step ? *question.log.step : HeatStep(to - from, age, options.columns);
  if (question.log.past.limit) options.most = *question.log.past.limit;
  const absl::Status status = CheckHeat(to - from, age, options);
  if (!status.ok()) return status;
  return options;
}

int ShowHeat(const Question& question) {
  const absl::StatusOr<HeatOptions> options = HeatOptionsOf(question);
  if (!options.ok()) return ToInt(question.console.Fail(options.status()));
  v1::QueryThrottleLogRequest request;
  *request.mutable_filter() = question.filter;
  request.add_group_by(v1::LOG_GROUP_IDENTITY);
  request.add_group_by(v1::LOG_GROUP_STEP);
  request.set_level(question.log.level);
  request.mutable_step()->set_seconds(absl::ToInt64Seconds(options->step));
  const auto sums = FetchSums(question, request, std::nullopt);
  if (!sums.ok()) return ToInt(question.console.Fail(sums.status()));
  const auto text = [&] { return HeatText(*sums, *options, question.console.colours); };
  return question.console.Print(*sums, text, [&] { return SumsCsv(*sums); });
}

// Why no denial is shown.
std::string NoDenialsText(const v1::ListDenialsResponse& newest, const LogArguments& log,
                          const Globals& globals) {
  if (newest.denials_size() >= kDenialsPerPage) {
    return absl::StrCat("none of the newest ", kDenialsPerPage,
                        " denials matches; older ones are not looked at\n");
  }
  const PastArguments& past = log.past;
  const bool all = past.identity.empty() && past.segment.empty() && past.since.empty() &&
                   past.until.empty() && globals.target.empty() && log.outcomes.empty() &&
                   !IsNarrowed(log);
  return all ? "nothing was denied that is still kept\n" : "no denial that is still kept matches\n";
}

int ShowDenials(const Question& question) {
  v1::ListDenialsRequest request;
  request.set_identity(question.filter.identity());
  request.set_page_size(kDenialsPerPage);
  const auto newest = question.connection.Call(&LogStub::ListDenials, request);
  if (!newest.ok()) return ToInt(question.console.Fail(newest.status()));
  const int most = question.log.past.limit.value_or(kDenialsPerPage);
  v1::ListDenialsResponse denials;
  for (const v1::Denial& denial : newest->denials()) {
    if (denials.denials_size() < most && Matches(denial, question.filter)) {
      *denials.add_denials() = denial;
    }
  }
  const auto text = [&] {
    if (denials.denials().empty()) return NoDenialsText(*newest, question.log, question.globals);
    return DenialsText(denials, ZoneOf(question.log.past), question.console.colours);
  };
  return question.console.Print(denials, text, [&] { return DenialsCsv(denials); });
}

int Answer(const Question& question) {
  switch (question.log.view) {
    case LogArguments::View::kIntervals:
      return ShowIntervals(question);
    case LogArguments::View::kSums:
      return ShowSums(question);
    case LogArguments::View::kHeat:
      return ShowHeat(question);
    case LogArguments::View::kDenials:
    case LogArguments::View::kFollow:
      break;
  }
  return ShowDenials(question);
}

int Follow(const Globals& globals, const LogArguments& arguments, const v1::LogFilter& filter,
           const Console& console) {
  const SignalInbox signals;  // before the connection, which has threads
  Connection connection(globals);
  LogFollow::Options options{
      .filter = filter, .interval = arguments.interval, .zone = ZoneOf(arguments.past)};
  if (arguments.past.limit) options.first = *arguments.past.limit;
  return LogFollow(connection, signals, console, options).Run();
}

}  // namespace

int RunLog(const Globals& globals, const LogArguments& arguments, const Console& console) {
  const absl::Time now = SystemClock::ReadKernel().wall();
  const auto filter = ToFilter(arguments, globals.target, now);
  if (!filter.ok()) return ToInt(console.Fail(filter.status()));
  if (arguments.view == LogArguments::View::kFollow) {
    return Follow(globals, arguments, *filter, console);
  }
  Connection connection(globals);
  return Answer({.log = arguments,
                 .globals = globals,
                 .filter = *filter,
                 .now = now,
                 .connection = connection,
                 .console = console});
}

}  // namespace headgate::cli
