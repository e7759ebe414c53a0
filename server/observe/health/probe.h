// Probe: one PostgreSQL server, as the poll loop sees it.
//
// The loop owns one probe for each server and calls it from one thread. Every call ends within the
// timeout that the probe was made with, whatever the server does: a probe over a real connection
// has a watchdog that frees a hung one. A failed call leaves the probe usable: the next one
// reconnects.
//
// Implementations: postgres::PostgresProbe; in tests, a fake.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/observe/health/profile.h"

namespace headgate::health {

// One signal to read on a server.
struct SignalQuery {
  std::string signal;           // SignalSpec::name
  std::string sql;              // of a custom signal; empty: built in
  std::vector<StandbySpec> of;  // for Scope::kStandbyOnPrimary: the standbys that are expected
};

// One instance's value, or why there is none. An expected standby that is not streaming has no
// value, an error that says so, and is absent: that is known of it, while of a value that could not
// be read nothing is. Neither value nor error: there will be one, but a rate takes a second sample;
// until then it does not count.
struct Reading {
  std::string instance;  // "replication_lag_seconds on standby-2"
  std::optional<double> value;
  std::string error;
  // What an operator should mend, so that the value means what it says; empty: nothing.
  std::string note = {};
  bool is_absent = false;  // a standby that is known not to follow, or not to be near
};

// Cumulative counters of the primary, from which the controller of an auto budget takes
// differences.
struct WorkCounters {
  int64_t sampled_at_ns = 0;  // monotonic
  int64_t next_xid = 0;       // next transaction id to be assigned; grows by one for each writer
  // Sessions running a statement now, this one left out.
  double foreground_active = 0;
  double batch_active = 0;
  // From pg_stat_statements, of roles that are not batch work. They grow by what was counted
  // between two readings for certain: what was reset or evicted in between is left out, but for
  // `ran`. Take differences between samples that have them.
  struct Statements {
    double calls = 0;
    double busy_seconds = 0;  // total execution time
    // Of the statements that run often enough to be judged by their times: how many, their
    // execution time, and the squares of how far each was from the mean of its own statement.
    double timed_calls = 0;
    double timed_seconds = 0;
    double timed_deviations = 0;  // s^2
    int64_t generation = 0;       // changes where the readings before and after cannot be compared
    // Calls of all statements, those among them that are not compared, and those that were thrown
    // away between two readings, as far as they are known to have run. It grows across generations.
    double ran = 0;
    int64_t ran_generation = 0;  // changes where nothing is known of what ran between two readings
  };
  std::optional<Statements> statements;
  // Why there can be none, in words; empty: they were only not asked for this time.
  std::string statements_missing;
  // What makes them worse than they could be, in words; empty: nothing.
  std::string statements_note;
};

// Whether the next sample should have statement statistics, which are dear where they have
// thousands of entries: a probe reads them no more often than its server bears.
enum class StatementsWish : uint8_t {
  kSpare,  // if there is plenty to spare
  kPair,   // if it may be read now, and once more soon
  kNow,    // in any case
};

class Probe {
 public:
  virtual ~Probe() = default;

  // Reads every signal of `queries`. Errors: Unavailable (cannot connect, connection lost),
  // DeadlineExceeded (hung), FailedPrecondition (the role may not see what it takes, or the server
  // is a standby where a primary is expected), PermissionDenied (password). A signal that cannot be
  // read by itself is a Reading with an error.
  virtual absl::StatusOr<std::vector<Reading>> Poll(absl::Span<const SignalQuery> queries) = 0;

  virtual absl::StatusOr<WorkCounters> SampleWork(StatementsWish wish) = 0;

  // What is worth knowing of the connection since the last call, in words, such as that it leads
  // through a pooler; empty: nothing.
  virtual std::string Note() const { return ""; }

  // Makes a call that is running in another thread fail soon, and every later one at once. For
  // shutting down. Thread-safe.
  virtual void Cancel() = 0;
};

}  // namespace headgate::health
