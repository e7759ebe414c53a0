// What the gRPC server and its services work with: references, all of which outlive them.
//
// Nothing here is optional but `elsewhere` and `fleet`. What does nothing by itself serves where
// nobody is interested: a CheckListener, a CallListener, an AccessControl without a policy, a
// Recorder that nobody collects.
//
//   auto server = RpcServer::Start(options, {.engine = engine, .clock = clock, ...});

#pragma once

#include "common/clock.h"
#include "server/access/access_control.h"
#include "server/engine/engine.h"
#include "server/line/waiting_lines.h"
#include "server/rpc/elsewhere.h"
#include "server/rpc/fleet.h"
#include "server/rpc/sources.h"
#include "server/throttle_log/recorder.h"
#include "server/transport/calls.h"

namespace headgate::rpc {

struct Dependencies {
  engine::Engine& engine;
  Clock& clock;
  StatusSource& status;
  CheckListener& activity;
  throttle_log::Recorder& recorder;  // counts decided Checks
  access::AccessControl& access;
  line::WaitingLines& lines;       // those of the engine, worked off while a server serves
  transport::Calls& calls;         // counts our own services' calls
  Elsewhere* elsewhere = nullptr;  // null: this server decides for every target
  Fleet* fleet = nullptr;          // null: this server is alone
};

}  // namespace headgate::rpc
