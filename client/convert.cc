#include "client/convert.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <headgate/transport.h>

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate::client::internal {
namespace {

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

void SetDuration(absl::Duration duration, google::protobuf::Duration& to) {
  absl::Duration rest;
  to.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  to.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

// A switch without a default, so that the compiler names what a new version of the API adds.
Reason FromProto(v1::Reason reason) {
  switch (reason) {
    case v1::REASON_UNSPECIFIED:
    case v1::REASON_UNMATCHED:  // of counts alone
      return Reason::kNone;
    case v1::REASON_EXEMPT:
      return Reason::kExempt;
    case v1::REASON_DENY_RULE:
      return Reason::kDenyRule;
    case v1::REASON_REJECT_RATIO:
      return Reason::kRejectRatio;
    case v1::REASON_HEALTH:
      return Reason::kHealth;
    case v1::REASON_MAX_COST:
      return Reason::kMaxCost;
    case v1::REASON_MAX_CONCURRENCY:
      return Reason::kMaxConcurrency;
    case v1::REASON_CAPACITY:
      return Reason::kCapacity;
    case v1::REASON_PERMITS:
      return Reason::kPermits;
    case v1::REASON_LINE:
      return Reason::kLine;
    case v1::REASON_LINE_FULL:
      return Reason::kLineFull;
    case v1::REASON_APPROXIMATE:
      return Reason::kApproximate;
    case v1::Reason_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::Reason_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return Reason::kUnknown;
}

LimitKind FromProto(v1::LimitKind kind) {
  switch (kind) {
    case v1::LIMIT_KIND_RULE:
      return LimitKind::kRule;
    case v1::LIMIT_KIND_HEALTH:
      return LimitKind::kHealth;
    case v1::LIMIT_KIND_RATE:
      return LimitKind::kRate;
    case v1::LIMIT_KIND_BURST:
      return LimitKind::kBurst;
    case v1::LIMIT_KIND_MAX_COST:
      return LimitKind::kMaxCost;
    case v1::LIMIT_KIND_MAX_CONCURRENCY:
      return LimitKind::kMaxConcurrency;
    case v1::LIMIT_KIND_PROBE:
      return LimitKind::kProbe;
    case v1::LIMIT_KIND_PERMITS:
      return LimitKind::kPermits;
    case v1::LIMIT_KIND_LINE:
      return LimitKind::kLine;
    case v1::LIMIT_KIND_LINE_FULL:
      return LimitKind::kLineFull;
    case v1::LIMIT_KIND_APPROXIMATE:
      return LimitKind::kApproximate;
    case v1::LIMIT_KIND_UNSPECIFIED:
    case v1::LimitKind_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::LimitKind_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return LimitKind::kUnknown;
}

HealthState FromProto(v1::HealthState state) {
  switch (state) {
    case v1::HEALTH_STATE_UNMONITORED:
      return HealthState::kUnmonitored;
    case v1::HEALTH_STATE_WARMING:
      return HealthState::kWarming;
    case v1::HEALTH_STATE_HEALTHY:
      return HealthState::kHealthy;
    case v1::HEALTH_STATE_STALE:
      return HealthState::kStale;
    case v1::HEALTH_STATE_UNSPECIFIED:
    case v1::HealthState_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::HealthState_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return HealthState::kUnknown;
}

BudgetUnit FromProto(v1::BudgetUnit unit) {
  switch (unit) {
    case v1::BUDGET_UNIT_COST:
      return BudgetUnit::kCost;
    case v1::BUDGET_UNIT_BUSY_TIME:
      return BudgetUnit::kBusyTime;
    case v1::BUDGET_UNIT_UNSPECIFIED:
    case v1::BudgetUnit_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::BudgetUnit_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return BudgetUnit::kUnknown;
}

Violation FromProto(const v1::Violation& proto) {
  Violation violation{.budget = proto.budget(),
                      .rule = proto.rule(),
                      .limit_kind = FromProto(proto.limit_kind()),
                      .level = proto.level(),
                      .observed = proto.observed(),
                      .limit = proto.limit(),
                      .signal = proto.signal(),
                      .warn = proto.warn()};
  if (proto.has_retry_after()) violation.retry_after = FromProto(proto.retry_after());
  violation.unit = FromProto(proto.unit());
  if (proto.has_reported_debt()) {
    const v1::ReportedDebt& debt = proto.reported_debt();
    violation.reported_debt = ReportedDebt{.reported_at = FromProto(debt.reported_at()),
                                           .reported = debt.reported(),
                                           .owed_for = FromProto(debt.owed_for())};
  }
  return violation;
}

Health FromProto(const v1::Health& proto) {
  Health health{.profile = proto.profile(),
                .state = FromProto(proto.state()),
                .speed = proto.speed(),
                .pressure = proto.pressure(),
                .signal = proto.signal()};
  if (proto.has_sample_age()) health.sample_age = FromProto(proto.sample_age());
  return health;
}

// The fields of this number that hold bytes, in a message whose type is not at hand. To link
// google/rpc/error_details.proto would end programs at their start that have it from elsewhere.
std::vector<std::string> Fields(const std::string& message, int number) {
  google::protobuf::UnknownFieldSet fields;
  std::vector<std::string> found;
  if (!fields.ParseFromString(message)) return found;
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == number &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      found.push_back(field.length_delimited());
  }
  return found;
}

// Google's codes are gRPC's and Abseil's.
absl::Status FromCode(int code, const std::string& message) {
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

v1::Reason ToProto(Reason reason) {
  constexpr std::array kReasons = {v1::REASON_UNSPECIFIED,     v1::REASON_EXEMPT,
                                   v1::REASON_DENY_RULE,       v1::REASON_REJECT_RATIO,
                                   v1::REASON_HEALTH,          v1::REASON_MAX_COST,
                                   v1::REASON_MAX_CONCURRENCY, v1::REASON_CAPACITY,
                                   v1::REASON_PERMITS,         v1::REASON_LINE,
                                   v1::REASON_LINE_FULL,       v1::REASON_APPROXIMATE};
  const auto place = static_cast<size_t>(reason);
  return place < kReasons.size() ? kReasons[place] : v1::REASON_UNSPECIFIED;
}

v1::LimitKind ToProto(LimitKind kind) {
  constexpr std::array kKinds = {
      v1::LIMIT_KIND_RULE,      v1::LIMIT_KIND_HEALTH,     v1::LIMIT_KIND_RATE,
      v1::LIMIT_KIND_BURST,     v1::LIMIT_KIND_MAX_COST,   v1::LIMIT_KIND_MAX_CONCURRENCY,
      v1::LIMIT_KIND_PROBE,     v1::LIMIT_KIND_PERMITS,    v1::LIMIT_KIND_LINE,
      v1::LIMIT_KIND_LINE_FULL, v1::LIMIT_KIND_APPROXIMATE};
  const auto place = static_cast<size_t>(kind);
  return place < kKinds.size() ? kKinds[place] : v1::LIMIT_KIND_UNSPECIFIED;
}

v1::LeaseUse ToProto(const LeaseUse& use) {
  v1::LeaseUse proto;
  proto.set_spent(use.spent);
  proto.set_pieces(use.pieces);
  proto.set_safe_spent(use.safe_spent);
  proto.set_identity(use.identity);
  proto.set_target(use.target);
  proto.set_id(use.id);
  for (const PieceCount& count : use.counts) {
    v1::PieceCount& added = *proto.add_counts();
    const bool is_denied = count.verdict == Verdict::kDenied;
    added.set_verdict(is_denied ? v1::VERDICT_DENIED : v1::VERDICT_ALLOWED);
    added.set_reason(ToProto(count.reason));
    if (count.limit_kind.has_value()) added.set_limit_kind(ToProto(*count.limit_kind));
    added.set_budget(count.budget);
    added.set_rule(count.rule);
    added.set_signal(count.signal);
    added.set_pieces(count.pieces);
    added.set_cost(count.cost);
  }
  return proto;
}

GrantedLease FromProto(const v1::Lease& lease) {
  GrantedLease granted{.amount = lease.amount(),
                       .time = FromProto(lease.time()),
                       .reject_ratio = lease.reject_ratio(),
                       .one_at_a_time = lease.one_at_a_time(),
                       .safe_rate = lease.safe_rate(),
                       .safe_time = FromProto(lease.safe_time()),
                       .state = lease.state()};
  if (lease.has_largest_piece()) granted.largest_piece = lease.largest_piece();
  return granted;
}

}  // namespace

v1::CheckRequest ToProto(const CheckRequest& request) {
  v1::CheckRequest proto;
  proto.set_identity(request.identity);
  proto.set_target(request.target);
  if (request.estimated_cost.has_value()) proto.set_estimated_cost(*request.estimated_cost);
  proto.set_pattern(request.pattern);
  proto.mutable_tags()->insert(request.tags.begin(), request.tags.end());
  proto.set_request_id(request.request_id);
  proto.set_validate_only(request.validate_only);
  if (request.max_wait != absl::ZeroDuration()) {
    SetDuration(request.max_wait, *proto.mutable_max_wait());
  }
  if (request.lease.has_value()) {
    v1::LeaseTerms& lease = *proto.mutable_lease();
    lease.set_least(request.lease->least);
    SetDuration(request.lease->time, *lease.mutable_time());
    lease.set_safe_rate(request.lease->safe_rate);
    SetDuration(request.lease->safe_time, *lease.mutable_safe_time());
    if (request.lease->returned.has_value()) {
      *lease.mutable_returned() = ToProto(*request.lease->returned);
    }
  }
  return proto;
}

v1::CheckRequest ToProto(const LeaseWatch& watch) {
  v1::CheckRequest proto;
  proto.set_identity(watch.identity);
  proto.set_target(watch.target);
  proto.set_pattern(watch.pattern);
  proto.mutable_tags()->insert(watch.tags.begin(), watch.tags.end());
  // A server that does not know what a watch is refuses that, and decides nothing.
  proto.set_validate_only(true);
  SetDuration(watch.max_wait, *proto.mutable_max_wait());
  proto.mutable_lease()->mutable_watch()->set_state(watch.state);
  return proto;
}

v1::PermitReport ToProto(const PermitReport& report) {
  v1::PermitReport proto;
  proto.set_permit_id(report.permit_id);
  const WorkDone& done = report.done;
  if (done.actual_cost.has_value()) proto.set_actual_cost(*done.actual_cost);
  if (done.busy_time.has_value()) SetDuration(*done.busy_time, *proto.mutable_busy_time());
  if (report.lease_use.has_value()) *proto.mutable_lease_use() = ToProto(*report.lease_use);
  return proto;
}

absl::StatusOr<Answer> FromProto(const v1::CheckResponse& response) {
  const v1::Decision& decision = response.decision();
  if (decision.verdict() != v1::VERDICT_ALLOWED && decision.verdict() != v1::VERDICT_DENIED)
    return absl::InternalError("the server's answer has no verdict");
  const bool allowed = decision.verdict() == v1::VERDICT_ALLOWED;
  Answer answer{.verdict = allowed ? Verdict::kAllowed : Verdict::kDenied,
                .reason = FromProto(decision.reason()),
                .predicted_cost = decision.predicted_cost(),
                .probe = decision.probe(),
                .message = decision.message(),
                .priority = decision.priority()};
  if (decision.has_permit_id()) answer.permit_id = decision.permit_id();
  if (decision.has_retry_after()) answer.retry_after = FromProto(decision.retry_after());
  for (const v1::Violation& violation : decision.violations())
    answer.violations.push_back(FromProto(violation));
  if (decision.has_health()) answer.health = FromProto(decision.health());
  if (decision.has_predicted_busy_time()) {
    answer.predicted_busy_time = FromProto(decision.predicted_busy_time());
  }
  if (decision.has_chunk_scale()) answer.chunk_scale = decision.chunk_scale();
  if (decision.has_waited()) answer.waited = FromProto(decision.waited());
  if (allowed && decision.has_lease()) answer.lease = FromProto(decision.lease());
  const int returned = decision.lease().returned().error().code();
  if (!decision.has_lease() || returned == grpc::UNAVAILABLE) {
    answer.returned = Answer::Returned::kAgain;
  } else if (returned == grpc::NOT_FOUND) {
    answer.returned = Answer::Returned::kCountsAgain;
  }
  return answer;
}

absl::StatusOr<ReportResult> FromProto(const v1::ReportResult& result) {
  ReportResult settled;
  switch (result.outcome()) {
    case v1::REPORT_OUTCOME_SETTLED:
      for (const v1::Overrun& overrun : result.overruns()) {
        settled.overruns.push_back({.budget = overrun.budget(),
                                    .reported = overrun.reported(),
                                    .charged = overrun.charged()});
      }
      settled.unsettled.assign(result.unsettled().begin(), result.unsettled().end());
      return settled;
    case v1::REPORT_OUTCOME_ALREADY_SETTLED:
      settled.outcome = ReportOutcome::kAlreadySettled;
      return settled;
    case v1::REPORT_OUTCOME_FORGOTTEN:
      settled.outcome = ReportOutcome::kForgotten;
      return settled;
    default:
      break;
  }
  if (result.has_error() && result.error().code() != 0)
    return FromCode(result.error().code(), result.error().message());
  return absl::InternalError("the server's result of a report has neither outcome nor error");
}

absl::Status FromGrpc(const grpc::Status& status) {
  absl::Status converted = FromCode(status.error_code(), status.error_message());
  // google.rpc.Status has its details in field 3, google.rpc.RetryInfo the delay in field 1.
  for (const std::string& detail : Fields(status.error_details(), 3)) {
    google::protobuf::Any any;
    if (!any.ParseFromString(detail) || !absl::EndsWith(any.type_url(), "/google.rpc.RetryInfo"))
      continue;
    google::protobuf::Duration delay;
    for (const std::string& bytes : Fields(any.value(), 1)) {
      if (delay.ParseFromString(bytes)) SetRetryDelay(FromProto(delay), converted);
    }
  }
  return converted;
}

absl::Status FromCall(const grpc::Status& status, const std::stop_token& stop) {
  absl::Status converted = FromGrpc(status);
  if (!absl::IsCancelled(converted) || stop.stop_requested()) return converted;
  return absl::UnavailableError(absl::StrCat("the server cut the call: ", converted.message()));
}

}  // namespace headgate::client::internal
