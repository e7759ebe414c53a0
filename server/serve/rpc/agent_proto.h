// What agents tell, from protobuf and back.
//
// Pure functions.

#pragma once

#include <headgate/v1/agent_service.pb.h>
#include <headgate/v1/status_service.pb.h>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/observe/agents/agent_state.h"

namespace headgate::rpc {

// InvalidArgument, "state.means: ...": it is out of bounds.
absl::StatusOr<agents::AgentState> AgentStateOf(const v1::AgentState& from);
void FillAgent(const agents::AgentView& from, const Now& now, v1::AgentStatus& to);

}  // namespace headgate::rpc
