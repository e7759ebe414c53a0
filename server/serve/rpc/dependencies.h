// What the gRPC server and its services work with: references, all of which outlive them.
//
// Nothing here is optional but the last three. What does nothing by itself serves
// where nobody is interested: a CheckListener, a CallListener, an AccessControl without a policy, a
// Recorder that nobody collects.
//
//   auto server = RpcServer::Start(options, {.engine = engine, .clock = clock, ...});

#pragma once

#include "common/clock.h"
#include "server/decide/approximate/approximate_limits.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "server/govern/access/access_control.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/serve/rpc/fleet.h"
#include "server/serve/rpc/remote_decider.h"
#include "server/serve/rpc/sources.h"
#include "server/serve/transport/calls.h"

namespace headgate::rpc {

struct Dependencies {
  engine::Engine& engine;
  Clock& clock;
  StatusSource& status;
  CheckListener& activity;
  throttle_log::Recorder& recorder;  // counts decided Checks
  access::AccessControl& access;
  line::WaitingLines& lines;                // those of the engine, worked off while a server serves
  transport::Calls& calls;                  // counts our own services' calls
  RemoteDecider* remote_decider = nullptr;  // null: this server decides for every target
  Fleet* fleet = nullptr;                   // null: this server is alone
  // Where nobody decides for a target; null: such calls are held.
  approximate::ApproximateLimits* approximate = nullptr;
};

}  // namespace headgate::rpc
