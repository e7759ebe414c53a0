#include "client/cli/log_fetch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/proto_text.h"
#include "client/cli/values.h"

namespace headgate::cli {
namespace {

constexpr int kMaxSums = 10'000;
constexpr int kMaxIntervals = 1'000;

// `rows` counts those of a response.
template <typename Response, typename Request, typename Call, typename Rows>
absl::StatusOr<Response> FetchAll(Request request, int max_in_page, std::optional<int> limit,
                                  Call call, Rows rows) {
  Response all;
  for (;;) {
    const int left = limit ? *limit - rows(all) : max_in_page;
    request.set_page_size(std::min(left, max_in_page));
    absl::StatusOr<Response> page = call(request);
    if (!page.ok()) return page.status();
    all.MergeFrom(*page);
    all.set_next_page_token(page->next_page_token());
    if (all.next_page_token().empty() || (limit && rows(all) >= *limit)) return all;
    request.set_page_token(all.next_page_token());
  }
}

}  // namespace

absl::TimeZone ZoneOf(const PastArguments& past) {
  return past.zone == Zone::kLocal ? absl::LocalTimeZone() : absl::UTCTimeZone();
}

absl::StatusOr<v1::LogFilter> ToFilter(const PastArguments& past, const std::string& target,
                                       absl::Time now) {
  v1::LogFilter filter;
  filter.set_identity(past.identity);
  filter.set_segment(past.segment);
  filter.set_target(target);
  absl::Time to = now;
  if (!past.until.empty()) {
    const absl::StatusOr<absl::Time> until = TimeFromText(past.until, now, ZoneOf(past));
    if (!until.ok()) return until.status();
    SetTimestamp(to = *until, *filter.mutable_to());
  }
  if (past.since.empty()) return filter;
  const absl::StatusOr<absl::Time> since = TimeFromText(past.since, now, ZoneOf(past));
  if (!since.ok()) return since.status();
  if (*since >= to) {
    return absl::InvalidArgumentError(
        absl::StrCat("--since: ", absl::FormatTime("%Y-%m-%d %H:%M:%S %Z", *since, ZoneOf(past)),
                     " is not before ", absl::FormatTime("%Y-%m-%d %H:%M:%S %Z", to, ZoneOf(past)),
                     past.zone == Zone::kUtc ? "; --local takes times in the local zone" : ""));
  }
  SetTimestamp(*since, *filter.mutable_from());
  return filter;
}

absl::StatusOr<v1::LogFilter> ToFilter(const LogArguments& log, const std::string& target,
                                       absl::Time now) {
  absl::StatusOr<v1::LogFilter> filter = ToFilter(log.past, target, now);
  if (!filter.ok()) return filter;
  for (const v1::Outcome outcome : log.outcomes) filter->add_outcomes(outcome);
  for (const v1::Reason reason : log.reasons) filter->add_reasons(reason);
  for (const std::string& budget : log.budgets) filter->add_budgets(budget);
  for (const std::string& signal : log.signals) filter->add_signals(signal);
  return filter;
}

absl::StatusOr<v1::QueryThrottleLogResponse> FetchSums(Connection& connection,
                                                       v1::QueryThrottleLogRequest request,
                                                       std::optional<int> limit) {
  return FetchAll<v1::QueryThrottleLogResponse>(
      std::move(request), kMaxSums, limit,
      [&](const auto& page) { return connection.QueryThrottleLog(page); },
      [](const auto& response) { return response.sums_size(); });
}

absl::StatusOr<v1::ListThrottledIntervalsResponse> FetchIntervals(
    Connection& connection, v1::ListThrottledIntervalsRequest request, std::optional<int> limit) {
  return FetchAll<v1::ListThrottledIntervalsResponse>(
      std::move(request), kMaxIntervals, limit,
      [&](const auto& page) { return connection.ListThrottledIntervals(page); },
      [](const auto& response) { return response.intervals_size(); });
}

}  // namespace headgate::cli
