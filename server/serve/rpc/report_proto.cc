#include "server/serve/rpc/report_proto.h"

#include <cstdint>

#include "server/decide/engine/policy.h"
#include "server/serve/rpc/lease_proto.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

// Both sides count alike, from the first that is no error.
static_assert(v1::REPORT_OUTCOME_SETTLED == 1 + static_cast<int>(engine::ReportOutcome::kSettled));
static_assert(v1::REPORT_OUTCOME_FORGOTTEN ==
              1 + static_cast<int>(engine::ReportOutcome::kForgotten));

}  // namespace

absl::StatusOr<engine::ActualCost> ToActualCost(const v1::PermitReport& report) {
  engine::ActualCost actual;
  if (report.has_actual_cost()) actual.cost = report.actual_cost();
  if (report.has_lease_use()) [[unlikely]] {
    if (absl::Status valid = ValidateCounts(report.lease_use()); !valid.ok()) return valid;
    actual.spent = ToSpent(report.lease_use());
  }
  if (!report.has_busy_time()) return actual;
  const google::protobuf::Duration& busy = report.busy_time();
  const bool is_one = busy.seconds() >= -kMaxSeconds && busy.seconds() <= kMaxSeconds &&
                      busy.nanos() > -kNanosPerSecond && busy.nanos() < kNanosPerSecond;
  if (!is_one) return absl::InvalidArgumentError("busy_time: is no duration that protobuf has");
  actual.busy_time = DurationOf(busy);
  return actual;
}

void FillReportResult(const engine::Settlement& from, v1::ReportResult& to) {
  to.set_outcome(static_cast<v1::ReportOutcome>(1 + static_cast<int>(from.outcome)));
  to.clear_overruns();
  for (const engine::Overrun& overrun : from.overruns) {
    v1::Overrun& added = *to.add_overruns();
    added.set_budget(from.policy->budget_specs[overrun.budget].name);
    added.set_reported(overrun.reported);
    added.set_charged(overrun.charged);
  }
  to.clear_unsettled();
  for (const uint32_t budget : from.unsettled) {
    to.add_unsettled(from.policy->budget_specs[budget].name);
  }
}

}  // namespace headgate::rpc
