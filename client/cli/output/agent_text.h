// What `status` and `top` say of the agent beside a target's PostgreSQL: who yields the processor,
// who does not and for whom, and what came of it.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/status_service.pb.h>

#include <string>
#include <string_view>

#include "client/cli/output/table.h"

namespace headgate::cli {

// Lines that begin with the indent; empty where the target has no agent.
std::string AgentText(const v1::TargetStatus& target, Colours colours, std::string_view indent);

// "pid 4711 backfill-7 (role etl)".
std::string SessionText(const v1::AgentSession& session);

// "for pid 99 orders-api (role web)", or why else.
std::string RaisedForText(const v1::RaisedSession& raised);

}  // namespace headgate::cli
