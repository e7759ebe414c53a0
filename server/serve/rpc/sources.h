// What the services ask of the rest of the server, besides the engine. The composition root
// implements it.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "server/govern/access/status.h"
#include "server/govern/config/config.h"
#include "server/govern/config/load_status.h"
#include "server/govern/tls/status.h"
#include "server/observe/agents/agent_state.h"
#include "server/observe/health/snapshot.h"
#include "server/remember/overrides/status.h"
#include "server/remember/snapshot/status.h"
#include "server/remember/throttle_log/status.h"

namespace headgate::rpc {

// Thread-safe.
class StatusSource {
 public:
  virtual ~StatusSource() = default;

  virtual absl::Time StartedAt() const = 0;
  virtual config::LoadStatus Config() const = 0;
  // The configuration itself; null: there is none.
  virtual std::shared_ptr<const config::Config> InForce() const { return nullptr; }
  virtual std::vector<health::TargetSnapshot> Targets() const = 0;
  // Of targets that an agent has told of.
  virtual std::vector<agents::AgentView> Agents() const { return {}; }
  virtual throttle_log::ThrottleLogSnapshot ThrottleLog() const = 0;
  virtual overrides::OverridesSnapshot Overrides() const = 0;
  virtual snapshot::SnapshotView Snapshot() const { return {}; }
  virtual tls::TlsSnapshot Tls() const { return {}; }
  virtual access::AccessSnapshot Access() const { return {}; }
  // What else an operator should mend.
  virtual std::vector<std::string> Warnings() const { return {}; }
};

// Learns that somebody asks, so that health is measured more often. Called for each Check or batch
// before it is decided, and for each Explain, on the serving thread: it must cost nanoseconds.
// Thread-safe.
class CheckListener {
 public:
  virtual ~CheckListener() = default;

  // `target` as the request has it: empty where it names none. Here nobody is interested.
  virtual void OnCheck(std::string_view /*target*/) {}
};

}  // namespace headgate::rpc
