#include "client/cli/arguments/log_filter.h"

#include "client/cli/arguments/parse_value.h"
#include "client/cli/output/proto_text.h"

namespace headgate::cli {

absl::TimeZone ZoneOf(const PastArguments& past) { return past.zone; }

absl::StatusOr<v1::LogFilter> ToFilter(const PastArguments& past, const std::string& target,
                                       absl::Time now) {
  const absl::StatusOr<TimeSpan> span = SpanFromText(past.since, past.until, now, past.zone);
  if (!span.ok()) return span.status();
  v1::LogFilter filter;
  filter.set_identity(past.identity);
  filter.set_segment(past.segment);
  filter.set_target(target);
  if (!past.since.empty()) SetTimestamp(span->from, *filter.mutable_from());
  if (!past.until.empty()) SetTimestamp(span->to, *filter.mutable_to());
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
  filter->set_server(log.server);
  return filter;
}

}  // namespace headgate::cli
