#include "server/observe/health/signal_catalog.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::health {
namespace {

constexpr double kMillion = 1e6;
constexpr double kBillion = 1e9;

// No heartbeat_lag_seconds: it takes a table and somebody who writes to it, so it is a custom
// signal's query (docs/health.md shows it).
constexpr SignalInfo kSignals[] = {
    {.name = "replication_lag_seconds",
     .unit = "s",
     .scope = Scope::kStandbyOnPrimary,
     .soft = 1,
     .hard = 5,
     .description = "How far replay on the standby is behind, as the primary sees it."},
    {.name = "replication_lag_bytes",
     .unit = "bytes",
     .scope = Scope::kStandbyOnPrimary,
     .soft = 50 * kMillion,
     .hard = 100 * kMillion,
     .description = "WAL that the primary has written and the standby has not replayed."},
    {.name = "standby_lag_seconds",
     .unit = "s",
     .scope = Scope::kStandby,
     .soft = 1,
     .hard = 5,
     .description = "How far the standby is behind the primary, asked on both of them."},
    {.name = "slot_retained_bytes",
     .unit = "bytes",
     .soft = 100 * kMillion,
     .hard = 10 * kBillion,
     .description = "WAL kept back by the replication slot that is furthest behind."},
    // Twice and four times the cores of a server that has 4: it can't be asked how many it has.
    {.name = "active_backends",
     .soft = 8,
     .hard = 16,
     .description = "Client sessions that are running a statement."},
    {.name = "connection_fraction",
     .soft = 0.75,
     .hard = 0.90,
     .description = "Client sessions as a share of the connections that are not reserved."},
    {.name = "lock_waiters",
     .soft = 3,
     .hard = 10,
     .description = "Client sessions that wait for a lock."},
    {.name = "lock_wait_max_seconds",
     .unit = "s",
     .soft = 1,
     .hard = 5,
     .description = "How long the longest wait for a lock has lasted."},
    {.name = "oldest_transaction_seconds",
     .unit = "s",
     .soft = 60,
     .hard = 300,
     .description = "Age of the oldest open transaction of a client."},
    {.name = "xmin_age",
     .unit = "transactions",
     .soft = 1 * kMillion,
     .hard = 10 * kMillion,
     .description = "How far back the oldest snapshot, slot or prepared transaction holds vacuum."},
    {.name = "wraparound_fraction",
     .soft = 1.10,
     .hard = 1.25,
     .description = "Age of the oldest unfrozen row over the age that forces a vacuum."},
    {.name = "wal_bytes_per_second",
     .unit = "bytes/s",
     .soft = 30 * kMillion,
     .hard = 60 * kMillion,
     .description = "WAL written."},
    // More than half requested is pressure, all of them half speed; alone it never shuts the gate.
    {.name = "requested_checkpoint_fraction",
     .soft = 0.5,
     .hard = 1.5,
     .description = "Share of recent checkpoints that were forced by WAL instead of due by time."},
    // Any at all is too many: it is counted over ten seconds, where one is 0.1 a second.
    {.name = "backend_fsyncs_per_second",
     .unit = "1/s",
     .soft = 0,
     .hard = 0.05,
     .description = "Files that backends had to flush themselves because the checkpointer lagged."},
    {.name = "io_wait_fraction",
     .soft = 0.3,
     .hard = 0.6,
     .description = "Share of the active client sessions that wait for I/O."},
    {.name = "deadlocks_per_second",
     .unit = "1/s",
     .soft = 0.1,
     .hard = 1,
     .description = "Deadlocks in all databases."},
    {.name = "rollbacks_per_second",
     .unit = "1/s",
     .soft = 0.1,
     .hard = 1,
     .description = "Transactions rolled back in all databases."},
    {.name = "temp_bytes_per_second",
     .unit = "bytes/s",
     .soft = 50 * kMillion,
     .hard = 200 * kMillion,
     .description = "Temporary files written by queries in all databases."},
    {.name = "autovacuum_backlog",
     .soft = 2,
     .hard = 10,
     .every = absl::Seconds(30),
     .description = "Dead rows over the table's autovacuum threshold, of the worst table."},
    {.name = "load_per_core",
     .soft = 1,
     .hard = 2,
     .description = "The server's load average over a minute, for each core."},
};

void Plan(const SignalSpec& signal, absl::Span<const StandbySpec> standbys,
          std::vector<PlannedQuery>& queries) {
  std::vector<StandbySpec> of;
  if (signal.scope == Scope::kStandbyOnPrimary) {
    std::ranges::copy_if(standbys, std::back_inserter(of), [&](const StandbySpec& standby) {
      return HasInstance(signal.scope, standby);
    });
    if (of.empty()) return;
  }
  const auto known = std::find_if(
      queries.begin(), queries.end(),
      [&signal](const PlannedQuery& planned) { return planned.query.signal == signal.name; });
  if (known != queries.end()) {
    known->every = std::min(known->every, signal.every);
    return;
  }
  PlannedQuery& planned = queries.emplace_back();
  planned.query.signal = signal.name;
  planned.query.sql = signal.sql;
  planned.query.of = std::move(of);
  planned.every = signal.every;
}

}  // namespace

absl::Span<const SignalInfo> AllSignals() { return kSignals; }

bool HasInstance(Scope scope, const StandbySpec& standby) {
  if (scope == Scope::kStandbyOnPrimary) return !standby.is_cascading;
  return scope == Scope::kStandby && standby.has_connection;
}

const SignalInfo* FindSignal(std::string_view name) {
  for (const SignalInfo& signal : kSignals) {
    if (signal.name == name) return &signal;
  }
  return nullptr;
}

std::string InstanceName(std::string_view signal, std::string_view standby) {
  return absl::StrCat(Sv(signal), " on ", Sv(standby));
}

std::vector<std::string> InstancesOf(const ProfileSpec& profile,
                                     absl::Span<const StandbySpec> standbys) {
  std::vector<std::string> instances;
  for (const SignalSpec& signal : profile.signals) {
    if (signal.scope == Scope::kPrimary) instances.push_back(signal.name);
    for (const StandbySpec& standby : standbys) {
      if (!HasInstance(signal.scope, standby)) continue;
      instances.push_back(InstanceName(signal.name, standby.name));
    }
  }
  return instances;
}

std::vector<std::string> InstancesOnAll(const ProfileSpec& profile,
                                        absl::Span<const std::vector<StandbySpec>> standbys) {
  std::vector<std::string> all;
  for (const std::vector<StandbySpec>& of_target : standbys) {
    for (std::string& instance : InstancesOf(profile, of_target)) {
      if (std::find(all.begin(), all.end(), instance) == all.end()) {
        all.push_back(std::move(instance));
      }
    }
  }
  return all;
}

QueryPlan QueriesFor(absl::Span<const ProfileSpec> profiles,
                     absl::Span<const StandbySpec> standbys) {
  QueryPlan plan;
  plan.standbys.resize(standbys.size());
  for (const ProfileSpec& profile : profiles) {
    for (const SignalSpec& signal : profile.signals) {
      if (signal.scope != Scope::kStandby) Plan(signal, standbys, plan.primary);
      for (size_t i = 0; i < standbys.size() && signal.scope == Scope::kStandby; ++i) {
        if (!standbys[i].has_connection) continue;
        Plan(signal, standbys, plan.standbys[i]);
        if (signal.name == kStandbyLagSignal) Plan(signal, standbys, plan.primary);
      }
    }
  }
  return plan;
}

}  // namespace headgate::health
