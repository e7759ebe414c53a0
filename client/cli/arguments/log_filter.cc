#include "client/cli/arguments/log_filter.h"

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/output/proto_text.h"

namespace headgate::cli {

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
  filter->set_server(log.server);
  return filter;
}

}  // namespace headgate::cli
