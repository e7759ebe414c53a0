// Agent: has the batch sessions of a PostgreSQL on this machine yield the processor to all others,
// for as long as it runs.
//
//   look at the sessions -> SessionRanks decides and acts -> a line for each change
//
// each 0.1 s while there is batch work, each 0.25 s where there is none. What yields is as it was
// when PostgreSQL does not answer for 2 s, when the agent is asked to end, when it is killed
// (Watchdog), and at the next start at the latest (Journal).
//
// It may tell headgated what it does, which changes nothing of it.
//
// Nothing is touched before a probe has shown, with PostgreSQL's own backends, that yielding works
// here, and by which means (YieldProbe); where it does not, that is tried again each ten minutes,
// and with each new connection.
//
// For one thread of a process that has no other.
//
//   const StopSignals stop;
//   absl::Status status = RunAgent(options);
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/agent/database.h"
#include "client/agent/headgated.h"

namespace headgate::agent {

struct AgentOptions {
  std::string dsn = {};  // empty: as libpq finds it
  BatchWork batch = {};  // of nothing: as headgated says
  std::string state_folder = {};
  std::string metrics_file = {};  // empty: none
  // What batch work has at least of PostgreSQL's processors, as a share of them; 0: nothing.
  double floor = 0;
  Clock* clock = nullptr;
  int stop_fd = -1;                // readable: end
  Headgated* headgated = nullptr;  // null: it works alone
  std::function<void(const std::string&)> log = {};
};

// Until it is asked to end. FailedPrecondition: the folder is another agent's, or can't be written;
// Internal: something is not as it was, and the watchdog goes on with it.
absl::Status RunAgent(const AgentOptions& options);

// Says by `log` what works here and why other things do not, and touches nothing but two sessions
// of its own. Whether batch sessions would yield; errors as Database::Open.
absl::StatusOr<bool> CheckAgent(const AgentOptions& options);

// Has what an earlier agent left be as it was, and says so.
absl::Status RestoreLeft(const AgentOptions& options);

}  // namespace headgate::agent
