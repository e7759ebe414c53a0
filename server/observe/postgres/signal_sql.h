// The SQL behind the built-in signals, and how each signal is read from what it returns.
//
// Signals that look at the same place share a query. Names are looked up in pg_catalog alone, since
// a role's search_path may put others before it: the pipeline sees to that. Each query takes tenths
// of a millisecond on an idle server, and needs pg_monitor alone; but load_per_core needs the
// function in setup.sql.
//
// Immutable data: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace headgate::postgres {

enum class Query : uint8_t {
  kServer,  // at every poll: who is answering, and when
  kActivity,
  kLocks,
  kReplication,
  kSlots,
  kXmin,
  kWraparound,
  kWal,
  kCheckpoints,
  kDatabases,
  kAutovacuum,
  kLoad,
  kStandby,
  kSystem,  // once in a session: the cluster's identifier, where it may be asked for
};
inline constexpr size_t kQueries = static_cast<size_t>(Query::kSystem) + 1;

// One statement without parameters. `server_version` is as 150006.
std::string_view SqlOf(Query query, int server_version);
std::string_view NameOf(Query query);
// It names something that is where the role's search_path has it. All others name what is in
// pg_catalog, or in a schema that they name too.
bool UsesNamesOfRole(Query query);

// Columns of Query::kServer.
inline constexpr size_t kServerInRecovery = 0;  // t or f
inline constexpr size_t kServerMonitor = 1;     // t if the role may see what it takes
inline constexpr size_t kServerRole = 2;        // as SQL wants it quoted
inline constexpr size_t kServerStartedAt = 3;   // seconds since the Unix epoch
inline constexpr size_t kServerNow = 4;         // seconds, by its own clock
inline constexpr size_t kServerHasLoad = 5;     // t if load_per_core's function is there
inline constexpr size_t kServerProcess = 6;     // that answers, by number

// Columns of Query::kReplication, one row for each sender and one with NULLs if there is none.
inline constexpr size_t kReplicationWritten = 0;  // bytes since the beginning of WAL
inline constexpr size_t kReplicationName = 1;     // application_name
inline constexpr size_t kReplicationState = 2;
inline constexpr size_t kReplicationReplayed = 3;  // bytes since the beginning of WAL
inline constexpr size_t kReplicationLag = 4;       // seconds

// Which of the standbys it is: where it connects from, absent by a Unix socket, and its slot.
inline constexpr size_t kReplicationAddress = 5;
inline constexpr size_t kReplicationSlot = 6;

// Columns of Query::kWal.
inline constexpr size_t kWalWritten = 0;   // bytes since the beginning of WAL
inline constexpr size_t kWalTimeline = 1;  // its number

// Columns of Query::kStandby.
inline constexpr size_t kStandbyStreaming = 0;  // t or f
inline constexpr size_t kStandbyCaughtUp = 1;   // t or f
inline constexpr size_t kStandbyLag = 2;        // seconds since the last replayed transaction
inline constexpr size_t kStandbyReplayed = 3;   // bytes since the beginning of WAL
inline constexpr size_t kStandbyTimeline = 4;   // its number; absent: it does not stream

struct SignalSource {
  enum class Kind : uint8_t {
    kValue,          // as it stands
    kPerSecond,      // growth of a counter within `window`
    kShareOfGrowth,  // growth of this counter over that of this and the next one
    kReplayedBytes,  // of each expected standby
    kReplayedSeconds,
    kStandbySeconds,
  };
  std::string_view signal;
  Query query;
  Kind kind = Kind::kValue;
  size_t column = 0;
  absl::Duration window = absl::ZeroDuration();
};

// Null if there is no such built-in signal.
const SignalSource* FindSource(std::string_view signal);
absl::Span<const SignalSource> AllSources();

}  // namespace headgate::postgres
