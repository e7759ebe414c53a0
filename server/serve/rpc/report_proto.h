// Reports and what came of them, in the engine's terms and in protobuf.
//
// Pure functions.
//
//   const absl::StatusOr<engine::ActualCost> actual = ToActualCost(report);

#pragma once

#include <headgate/v1/throttler_service.pb.h>

#include "absl/status/statusor.h"
#include "server/decide/engine/settlement.h"

namespace headgate::rpc {

// InvalidArgument that names the field: a busy time that protobuf has no such.
absl::StatusOr<engine::ActualCost> ToActualCost(const v1::PermitReport& report);

// What stands in `to` is overwritten, but for its error.
void FillReportResult(const engine::Settlement& from, v1::ReportResult& to);

}  // namespace headgate::rpc
