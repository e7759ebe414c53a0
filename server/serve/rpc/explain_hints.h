// What helps to ask Explain as the job itself asks: what its newest Checks were like, and what
// makes this answer another one.
//
// Pure functions.
//
//   FillHints(explanation, check, recorder.LastChecksOf(key), response);

#pragma once

#include <headgate/v1/throttler_service.pb.h>

#include <vector>

#include "server/decide/engine/answer.h"
#include "server/remember/throttle_log/last_checks.h"

namespace headgate::rpc {

void FillHints(const engine::Explanation& explanation, const engine::CheckRequest& check,
               const std::vector<throttle_log::LastCheck>& last, v1::ExplainResponse& response);

}  // namespace headgate::rpc
