// What an RpcServer works with in tests that are about something else: nobody listens, collects
// what is counted, has a status, or is refused anything.
//
//   QuietDependencies quiet(engine, clock);
//   auto server = RpcServer::Start(options, quiet.all);

#pragma once

#include <vector>

#include "absl/time/time.h"
#include "server/rpc/dependencies.h"

namespace headgate::rpc {

class NoStatus final : public StatusSource {
 public:
  absl::Time StartedAt() const override { return absl::UnixEpoch(); }
  config::LoadStatus Config() const override { return {}; }
  std::vector<health::TargetSnapshot> Targets() const override { return {}; }
  throttle_log::ThrottleLogSnapshot ThrottleLog() const override { return {}; }
  overrides::OverridesSnapshot Overrides() const override { return {}; }
};

struct QuietDependencies {
  QuietDependencies(engine::Engine& engine, Clock& clock)
      : recorder(engine, {.seed = 7, .max_identities = 64, .max_labels = 64, .max_denials = 64}),
        access({.seed = 7}, clock),
        calls(clock, 7, call_listener),
        all{.engine = engine,
            .clock = clock,
            .status = status,
            .activity = activity,
            .recorder = recorder,
            .access = access,
            .calls = calls} {}

  NoStatus status;
  CheckListener activity;
  transport::CallListener call_listener;
  throttle_log::Recorder recorder;
  access::AccessControl access;
  transport::Calls calls;
  const Dependencies all;
};

}  // namespace headgate::rpc
