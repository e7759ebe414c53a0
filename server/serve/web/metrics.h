// What the server tells of itself: each function adds the families of one part.
//
// docs/operations.md lists all of them. Labels are names from the configuration (targets, budgets,
// profiles, signals) and fixed words, never an identity. Only what the policy in force knows is
// told: series of a budget or target that a reload has taken away are gone with it, and are where
// they were if it comes back.
//
// Thread-safe, as far as what they read is. All but process metrics are functions of what is
// passed.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/line_view.h"
#include "server/govern/access/refusal.h"
#include "server/govern/access/status.h"
#include "server/govern/config/load_status.h"
#include "server/govern/tls/status.h"
#include "server/observe/agents/agent_state.h"
#include "server/observe/health/snapshot.h"
#include "server/remember/overrides/status.h"
#include "server/remember/snapshot/status.h"
#include "server/remember/throttle_log/check_totals.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/remember/throttle_log/status.h"
#include "server/serve/transport/acceptor.h"
#include "server/serve/transport/calls.h"
#include "server/serve/transport/process_memory.h"
#include "server/serve/web/exposition.h"

namespace headgate::web {

inline double UnixSeconds(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

// Checks by what became of them. Of the policy's targets and budgets.
void AddChecks(const throttle_log::CheckTotals::All& totals, const engine::Policy& policy,
               Exposition& out);

// How long Checks waited. Of the policy's targets.
void AddWaits(const throttle_log::WaitTotals::All& totals, const engine::Policy& policy,
              Exposition& out);

// RPCs and decisions.
void AddCalls(const transport::Calls& calls, Exposition& out);

// Signals, profiles, servers. Thresholds are the policy's.
void AddHealth(absl::Span<const health::TargetSnapshot> targets, const engine::Policy& policy,
               Now now, Exposition& out);

// Agents beside PostgreSQL, of the policy's targets that have had one.
void AddAgents(absl::Span<const agents::AgentView> agents, const engine::Policy& policy,
               Exposition& out);

// Budgets, buckets, permits and leases.
struct EngineFigures {
  Now now;
  // That other servers decide for: what this one knows of their leases is out of date.
  std::vector<std::string> targets_elsewhere = {};
};
void AddEngine(const engine::Engine& engine, const EngineFigures& of, Exposition& out);

// Checks that wait in the server, and how such waits have ended.
void AddWaiting(const line::LineStats& lines, Exposition& out);

// Of a server that shares its targets with others.
struct SharingFigures {
  bool store_answers = false;
  absl::Duration store_since;  // for how long that has been so
  bool is_kept = false;        // it decides on without the store
  bool keeps_states = true;    // it reads and writes there what owners know
  int64_t members = 0;         // that are here, this one too
  struct Target {
    std::string_view name;
    bool is_own = false;
    bool has_owner = false;
    uint64_t generation = 0;
    int64_t configurations = 0;  // how differently the servers that are here have it
    int64_t servers = 0;         // that are here and have it
  };
  std::vector<Target> targets = {};
  // Of one that decides approximately while the store is away, where it cannot reach an owner.
  struct Approximation {
    bool is_deciding = false;
    int64_t admitted = 0;  // Checks, since the start; of them those to a bucket without a counter
    int64_t untracked = 0;
    int64_t uncharged_buckets = 0;
    int64_t charged_buckets = 0;
    int64_t lost_buckets = 0;
  };
  std::optional<Approximation> approximation = {};
};
void AddSharing(const SharingFigures& sharing, Exposition& out);

void AddConfig(const config::LoadStatus& status, Exposition& out);
void AddOverrides(const overrides::OverridesSnapshot& overrides, Exposition& out);
void AddThrottleLog(const throttle_log::ThrottleLogSnapshot& log,
                    const throttle_log::RecorderState& recorder, Exposition& out);
void AddBuild(std::string_view version, Exposition& out);

// What callers do to the gRPC port, and what it shows them.
void AddConnections(const transport::ConnectionCounts& connections, Exposition& out);
// Who holds how much of it.
void AddMemory(const std::vector<transport::OwnedMemory>& memory, Exposition& out);
void AddTls(const tls::TlsSnapshot& tls, Exposition& out);
void AddAccess(const access::RefusalCounts& denials, const access::AccessSnapshot& access,
               Exposition& out);

// `as_of` and the rest of what a restart would bring back.
void AddSnapshot(const snapshot::SnapshotView& snapshot, absl::Time now, Exposition& out);

// Of this process, under the names that all exporters use. From /proc/self; what cannot be read
// there is left out.
void AddProcess(Exposition& out);

}  // namespace headgate::web
