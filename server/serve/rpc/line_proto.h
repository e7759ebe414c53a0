// The lines in protobuf: who waits, for what, and where one that asks would stand.
//
// Pure functions, but for FillPlaces, which asks the lines. Keys of lines stay in the process.
//
//   FillLine(view, *engine.policy(), *response.add_lines());

#pragma once

#include <headgate/v1/status_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/policy.h"
#include "server/decide/line/line_view.h"
#include "server/decide/line/waiting_lines.h"

namespace headgate::rpc {

// Costs are in the unit of the line's budget, as the policy has it; 0 where it is gone from it.
void FillLine(const line::LineView& from, const engine::Policy& policy, v1::LineStatus& to);

// What there is to say of all lines; not the longest of them.
void FillWaiting(const line::LineStats& from, v1::WaitingStatus& to);

// Where the Check that was explained would stand, in each line that it would meet. After
// FillExplanation, whose buckets are told of their lines.
void FillPlaces(const engine::Explanation& explanation, line::WaitingLines& lines, Now now,
                v1::ExplainResponse& response);

}  // namespace headgate::rpc
