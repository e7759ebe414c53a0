// What a Throttler or an RpcServer works with where something else is measured or tried: nobody
// listens, collects what is counted, has a status, or is refused anything.
//
//   QuietDependencies quiet(engine, clock);
//   auto server = RpcServer::Start(options, quiet.all);

#pragma once

#include "server/serve/rpc/dependencies.h"
#include "tests/testing/fake_status.h"

namespace headgate::rpc {

struct QuietDependencies {
  QuietDependencies(engine::Engine& engine, Clock& clock)
      : recorder({.seed = 7, .max_identities = 64, .max_labels = 64, .max_denials = 64}),
        access({.seed = 7}, clock),
        lines({},
              [&engine](const engine::CheckRequest& request, Now now, engine::CheckAnswer& answer) {
                return engine.Check(request, now, answer);
              }),
        calls(clock, 7, call_listener),
        all{.engine = engine,
            .clock = clock,
            .status = status,
            .activity = activity,
            .recorder = recorder,
            .access = access,
            .lines = lines,
            .calls = calls} {
    engine.AttachLine(&lines);
  }

  FakeStatus status;
  CheckListener activity;
  transport::CallListener call_listener;
  throttle_log::Recorder recorder;
  access::AccessControl access;
  line::WaitingLines lines;
  transport::Calls calls;
  const Dependencies all;
};

}  // namespace headgate::rpc
