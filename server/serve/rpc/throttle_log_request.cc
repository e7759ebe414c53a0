#include "server/serve/rpc/throttle_log_request.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "server/serve/rpc/page_size.h"
#include "server/serve/rpc/page_token.h"
#include "server/serve/rpc/proto_time.h"
#include "server/serve/rpc/throttle_log_proto.h"

namespace headgate::rpc {
namespace {

using throttle_log::Outcome;
using throttle_log::Retention;

constexpr int kMaxAlternatives = 100;  // of one kind, in a filter
constexpr int64_t kMaxStepS = 366 * int64_t{86'400};
constexpr int64_t kUsualPeriodS = 3600;
constexpr int64_t kMaxGapS = 86'400;
constexpr int kSumsOnPage = 1000;
constexpr int kMaxSumsOnPage = 10'000;
constexpr int kIntervalsOnPage = 100;
constexpr int kMaxIntervalsOnPage = 1000;

absl::Status Wrong(const std::string& field, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

absl::Status ValidateTime(const char* field, const google::protobuf::Timestamp& time) {
  if (time.seconds() >= 0 && time.seconds() <= kLastUnixSecond && time.nanos() >= 0 &&
      time.nanos() < kNanosPerSecond) {
    return absl::OkStatus();
  }
  return Wrong(field, "is no time between 1970 and 9999");
}

// The period that the filter names, in whole seconds that hold it.
absl::StatusOr<throttle_log::Period> PeriodOf(const v1::LogFilter& filter, absl::Time now) {
  const auto ceil = [](const google::protobuf::Timestamp& time) {
    return time.seconds() + (time.nanos() > 0 ? 1 : 0);
  };
  throttle_log::Period period;
  period.to_s = absl::ToUnixSeconds(now) + 1;
  if (filter.has_to()) {
    if (absl::Status valid = ValidateTime("filter.to", filter.to()); !valid.ok()) return valid;
    period.to_s = std::min(ceil(filter.to()), kLastUnixSecond);
  }
  period.from_s = std::max<int64_t>(period.to_s - kUsualPeriodS, 0);
  if (filter.has_from()) {
    if (absl::Status valid = ValidateTime("filter.from", filter.from()); !valid.ok()) return valid;
    period.from_s = filter.from().seconds();
  }
  if (period.from_s < period.to_s) return period;
  return Wrong("filter.from", filter.has_to()
                                  ? "must be before filter.to"
                                  : "must not be in the future where filter.to is absent");
}

template <typename Values, typename IsGood>
absl::Status ValidateEach(const char* field, const Values& values, IsGood is_good,
                          const char* what) {
  if (values.size() > kMaxAlternatives) {
    return Wrong(field, absl::StrCat("has ", values.size(), "; at most ", kMaxAlternatives));
  }
  for (int i = 0; i < values.size(); ++i) {
    if (!is_good(values[i])) return Wrong(absl::StrCat(field, "[", i, "]"), what);
  }
  return absl::OkStatus();
}

absl::Status ValidateLists(const v1::LogFilter& filter) {
  const auto is_outcome = [](int value) {
    return v1::Outcome_IsValid(value) && value != v1::OUTCOME_UNSPECIFIED;
  };
  const auto is_reason = [](int value) { return v1::Reason_IsValid(value); };
  const auto is_name = [](const std::string& value) { return !value.empty(); };
  absl::Status status =
      ValidateEach("filter.outcomes", filter.outcomes(), is_outcome, "is no outcome");
  status.Update(ValidateEach("filter.reasons", filter.reasons(), is_reason, "is no reason"));
  status.Update(ValidateEach("filter.budgets", filter.budgets(), is_name, "must not be empty"));
  status.Update(ValidateEach("filter.signals", filter.signals(), is_name, "must not be empty"));
  return status;
}

absl::Status ValidateLevel(int level) {
  if (level >= 0 && level <= Identity::kMaxSegments) return absl::OkStatus();
  return Wrong("level", absl::StrCat("must be 0 to ", Identity::kMaxSegments, "; it is ", level));
}

absl::StatusOr<int64_t> StepOf(const google::protobuf::Duration& step, const Retention& retention) {
  const int64_t own_s = absl::ToInt64Seconds(retention.step);
  if (step.nanos() == 0 && step.seconds() > 0 && step.seconds() <= kMaxStepS &&
      step.seconds() % own_s == 0) {
    return step.seconds();
  }
  return Wrong("step", absl::StrCat("must be a multiple of the log's own, which is ", own_s,
                                    " s, and at most 366 days"));
}

absl::StatusOr<throttle_log::Grouping> GroupingOf(const v1::QueryThrottleLogRequest& from) {
  throttle_log::Grouping by;
  const auto flag = [&by](int group) -> bool* {
    switch (group) {
      case v1::LOG_GROUP_IDENTITY:
        return &by.identity;
      case v1::LOG_GROUP_TARGET:
        return &by.target;
      case v1::LOG_GROUP_OUTCOME:
        return &by.outcome;
      case v1::LOG_GROUP_REASON:
        return &by.reason;
      case v1::LOG_GROUP_BUDGET:
        return &by.budget;
      case v1::LOG_GROUP_RULE:
        return &by.rule;
      case v1::LOG_GROUP_SIGNAL:
        return &by.signal;
      case v1::LOG_GROUP_SERVER:
        return &by.server;
      case v1::LOG_GROUP_STEP:
        return &by.step;
      default:
        return nullptr;
    }
  };
  absl::Status valid = ValidateEach(
      "group_by", from.group_by(), [&](int group) { return flag(group) != nullptr; },
      "is nothing to group by");
  if (!valid.ok()) return valid;
  for (int group : from.group_by()) *flag(group) = true;
  return by;
}

absl::StatusOr<throttle_log::SumOrder> OrderOf(int order) {
  switch (order) {
    case v1::LOG_ORDER_UNSPECIFIED:
      return throttle_log::SumOrder::kName;
    case v1::LOG_ORDER_MOST_DENIED:
      return throttle_log::SumOrder::kMaxDenied;
    case v1::LOG_ORDER_MOST_COST_DENIED:
      return throttle_log::SumOrder::kMaxCostDenied;
    case v1::LOG_ORDER_MOST_CHECKS:
      return throttle_log::SumOrder::kMaxChecks;
    case v1::LOG_ORDER_MOST_HELD_BACK:
      return throttle_log::SumOrder::kMaxHeldBack;
    default:
      return Wrong("order", "is no order");
  }
}

// Goes on where the page before ended.
template <typename Query>
absl::Status Resume(const std::string& token, Query& query, throttle_log::Sum& after) {
  absl::StatusOr<PageStart> start = ReadPageToken(token);
  if (!start.ok()) return start.status();
  query.filter.from_s = start->period.from_s;
  query.filter.to_s = start->period.to_s;
  after = std::move(start->after);
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateSelector(const char* field, const std::string& identity) {
  if (identity.empty() || identity == "*") return absl::OkStatus();
  Identity parsed;
  const absl::Status status = Identity::Parse(identity, 0, parsed);
  return status.ok() ? status : Wrong(field, std::string(status.message()));
}

absl::Status ValidateSegment(const char* field, const std::string& segment) {
  if (segment.empty()) return absl::OkStatus();
  const absl::Status status = Identity::ValidateSegment(segment);
  return status.ok() ? status : Wrong(field, std::string(status.message()));
}

absl::StatusOr<throttle_log::ScanFilter> ToScanFilter(const v1::LogFilter& from,
                                                      const Retention& retention, absl::Time now) {
  if (absl::Status valid = ValidateSelector("filter.identity", from.identity()); !valid.ok()) {
    return valid;
  }
  if (absl::Status valid = ValidateSegment("filter.segment", from.segment()); !valid.ok()) {
    return valid;
  }
  absl::StatusOr<throttle_log::Period> period = PeriodOf(from, now);
  if (!period.ok()) return period.status();
  if (absl::Status valid = ValidateLists(from); !valid.ok()) return valid;
  *period = throttle_log::WholeSteps(*period, retention, now);
  // Answers and page tokens say the period as times, which end with the year 9999.
  period->to_s = std::min(period->to_s, kLastUnixSecond);
  throttle_log::ScanFilter to;
  to.from_s = period->from_s;
  to.to_s = period->to_s;
  to.identity = from.identity();
  to.segment = from.segment();
  to.target = from.target();
  to.server = from.server();
  for (int outcome : from.outcomes()) {
    to.outcomes.push_back(static_cast<Outcome>(outcome - kFromOutcome));
  }
  for (int reason : from.reasons()) to.reasons.push_back(static_cast<engine::Reason>(reason));
  to.budgets.assign(from.budgets().begin(), from.budgets().end());
  to.signals.assign(from.signals().begin(), from.signals().end());
  return to;
}

absl::StatusOr<throttle_log::SumQuery> ToSumQuery(const v1::QueryThrottleLogRequest& from,
                                                  const Retention& retention, absl::Time now) {
  auto filter = ToScanFilter(from.filter(), retention, now);
  auto by = GroupingOf(from);
  auto order = OrderOf(from.order());
  auto page_size = PageSizeOf(from.page_size(), kSumsOnPage, kMaxSumsOnPage);
  absl::StatusOr<int64_t> step_s = 0;
  if (from.has_step()) step_s = StepOf(from.step(), retention);
  absl::Status status = filter.status();
  for (const absl::Status& part : {by.status(), ValidateLevel(from.level()), step_s.status(),
                                   order.status(), page_size.status()}) {
    status.Update(part);
  }
  if (!status.ok()) return status;
  throttle_log::SumQuery query;
  query.filter = *std::move(filter);
  query.by = *by;
  query.level = from.level();
  query.step_s = *step_s;
  query.coarse_s = absl::ToInt64Seconds(retention.coarse_step);
  query.order = *order;
  query.page_size = *page_size;
  if (from.page_token().empty()) return query;
  status = Resume(from.page_token(), query, query.after.emplace());
  if (!status.ok()) return status;
  return query;
}

absl::StatusOr<throttle_log::IntervalQuery> ToIntervalQuery(
    const v1::ListThrottledIntervalsRequest& from, const Retention& retention, absl::Time now) {
  auto filter = ToScanFilter(from.filter(), retention, now);
  auto page_size = PageSizeOf(from.page_size(), kIntervalsOnPage, kMaxIntervalsOnPage);
  absl::Status status = filter.status();
  status.Update(ValidateLevel(from.level()));
  status.Update(page_size.status());
  throttle_log::IntervalQuery query;
  if (from.has_min_denied_ratio()) query.min_denied_ratio = from.min_denied_ratio();
  // Not the other way round: NaN is refused as well.
  if (!(query.min_denied_ratio > 0 && query.min_denied_ratio <= 1)) {
    status.Update(Wrong("min_denied_ratio", "must be above 0 and at most 1"));
  }
  if (from.has_max_gap()) query.max_gap_s = from.max_gap().seconds();
  if (query.max_gap_s < 0 || query.max_gap_s > kMaxGapS || from.max_gap().nanos() < 0) {
    status.Update(Wrong("max_gap", "must be 0 s to 1 day"));
  }
  if (!status.ok()) return status;
  query.filter = *std::move(filter);
  query.level = from.level();
  query.now_s = absl::ToUnixSeconds(now) + 1;
  query.newest_first = from.newest_first();
  query.page_size = *page_size;
  if (from.page_token().empty()) return query;
  throttle_log::Sum after;
  status = Resume(from.page_token(), query, after);
  if (!status.ok()) return status;
  query.after.emplace();
  query.after->identity = std::move(after.key.identity);
  query.after->target = std::move(after.key.target);
  (query.newest_first ? query.after->tally.to_s : query.after->tally.from_s) = after.key.step_s;
  return query;
}

}  // namespace headgate::rpc
