// Database: the agent's session with a PostgreSQL on this machine, each call by its deadline.
//
// Process numbers are what the agent acts on, so it is proved that those which PostgreSQL names
// are this machine's: over a Unix socket whoever listens there is the parent of the process that
// serves this session; over loopback that process has this session's port in its title. What does
// not prove it, such as a pooler, a port that leads into a container, or another namespace of
// processes, is refused.
//
// Settings are in the startup message and the one statement is prepared, which a session that leads
// straight to the server allows.
//
// libpq is used without blocking, but for names of hosts that have to be looked up. While it waits,
// a descriptor of the caller's ends the call as Cancelled, which is how a signal is heard at once.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(options, batch);
//   absl::StatusOr<std::vector<BatchSession>> sessions = (*database)->BatchSessions();
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/agent/agent_report.h"
#include "client/agent/processes.h"
#include "client/agent/yield_plan.h"
#include "common/clock.h"

struct pg_conn;
struct pg_result;

namespace headgate::agent {

// Which sessions are batch work, as `batch_work` of the server's configuration has it: any match
// will do, and '*' at the end of an application name matches any rest.
struct BatchWork {
  std::vector<std::string> roles = {};
  std::vector<std::string> application_names = {};

  friend bool operator==(const BatchWork&, const BatchWork&) = default;
};

class Database {
 public:
  struct Options {
    std::string dsn = {};
    absl::Duration limit = absl::Seconds(2);  // of each call
    Clock* clock = nullptr;
    Processes* processes = nullptr;
    int stop_fd = -1;  // readable: end what is under way
  };

  // Whom it watches.
  struct Server {
    std::string version = {};  // as 15.18
    std::string role = {};     // of this session
    int postmaster = 0;        // its process
    int backend = 0;           // that serves this session
  };

  static constexpr int kOldestVersion = 140000;

  // Errors: Unavailable, DeadlineExceeded, Cancelled; PermissionDenied (the role may not see other
  // sessions, or not log in) and FailedPrecondition (it is no server of this machine, or too old).
  static absl::StatusOr<std::unique_ptr<Database>> Open(const Options& options);
  ~Database();

  const Server& server() const { return server_; }
  // Whether it is a standby now, as it said with its last answer.
  bool is_standby() const;

  // What there is of batch work; superusers' sessions, replication and the server's own workers
  // never are. `waiting` is how many others wait for a lock at the moment, where there is any.
  struct Sight {
    std::vector<BatchSession> sessions = {};
    size_t waiting = 0;
  };
  absl::StatusOr<Sight> Look(const BatchWork& batch);

  // Who has waited for a lock for longer than 20 ms, and for whom. It takes the lock table's locks,
  // so it is to be asked only where somebody waits.
  absl::StatusOr<std::vector<LockWait>> LockWaits();

  // Of those of these sessions that are there: their roles and application names.
  absl::StatusOr<std::vector<NamedSession>> Names(const std::vector<int>& pids);

  // Has the server spin for so long, by its wall clock, and returns without waiting for it.
  absl::Status StartSpinning(absl::Duration time);
  // Waits for its end, which is to come before anything else is asked.
  absl::Status FinishSpinning();

 private:
  struct Closer {
    void operator()(pg_conn* connection) const;
    void operator()(pg_result* result) const;
  };
  using Result = std::unique_ptr<pg_result, Closer>;

  explicit Database(const Options& options) : options_(options) {}

  absl::Status Connect();
  absl::Status Prove();
  absl::Status CheckRole();
  absl::StatusOr<Result> Run(const char* sql, const std::vector<std::string>& parameters);
  absl::StatusOr<Result> RunPrepared(const char* name, const std::vector<std::string>& parameters);
  absl::Status Prepare(const char* name, const char* sql);
  absl::StatusOr<Result> Receive();
  absl::Status Wait(short events, int64_t end_ns) const;
  absl::Status Lost() const;
  int64_t EndNs() const;

  const Options options_;
  std::unique_ptr<pg_conn, Closer> connection_;
  Server server_;
  bool has_prepared_ = false;
};

}  // namespace headgate::agent
