// SignalReader: from what the queries returned to readings, with what has to be remembered from
// poll to poll: counters, for those that are rates, and when WAL was written.
//
// Values are never made up:
// - A rate needs two polls. Before that, and after a restart, a failover or a reset of statistics,
//   there is no reading of it at all; it is neither 0 nor an error.
// - An expected standby that is not streaming has an error, as has one that streams but whose lag
//   can't be known yet.
// - Replay of a standby: `replay_lag` only within the bounds that positions set, since it sticks.
//   Which rows are a standby's: standby_rows.h.
// - standby_lag_seconds is by the primary's position: standby_lag.h.
//
// Thread-compatible. No I/O.
//
//   reader.BeginPoll(now, server_started_at);
//   reader.Read(query, table, readings);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/observe/health/probe.h"
#include "server/observe/postgres/counter_window.h"
#include "server/observe/postgres/pipeline.h"
#include "server/observe/postgres/primary_position.h"
#include "server/observe/postgres/signal_sql.h"
#include "server/observe/postgres/standby_lag.h"
#include "server/observe/postgres/standby_rows.h"
#include "server/observe/postgres/wal_timeline.h"

namespace headgate::postgres {

class SignalReader {
 public:
  // `standby` is the server's name if it is one, and then part of its instances' names; `primary`
  // what it is compared with, if there is anything.
  explicit SignalReader(std::optional<std::string> standby,
                        std::shared_ptr<const PrimaryPosition> primary = nullptr)
      : standby_(std::move(standby)), standby_lag_(std::move(primary)) {}

  // `now` is the server's own time in seconds. One that was started at another time, or is another
  // one, has other counters. It was asked at `asked_ns`, monotonic.
  void BeginPoll(double now, const std::string& started_at, int64_t asked_ns = 0);
  // Of the cluster; empty: not known.
  void SetSystem(std::string system) { system_ = std::move(system); }

  // Appends the readings of `query`, from what its built-in query or its own SQL returned.
  void Read(const health::SignalQuery& query, const absl::StatusOr<Table>& table,
            std::vector<health::Reading>& readings);

  // A statement of ours failed: it is in the server's count of rollbacks, but none of its work.
  void CountOwnRollback() { ++own_rollbacks_; }

 private:
  using Value = absl::StatusOr<double>;

  std::string InstanceOf(const std::string& signal) const;
  void ReadStandbys(const health::SignalQuery& query, const SignalSource& source,
                    const Table& table, std::vector<health::Reading>& readings);
  Value ReplayOf(const StandbyRows& its, SignalSource::Kind kind) const;
  Value ReplaySeconds(double written, double replayed, std::optional<double> lag) const;
  // Absent: the next poll will tell.
  std::optional<Value> StandbySeconds(const Table& table);
  // Absent: nothing to compare with yet.
  std::optional<Value> Growth(const SignalSource& source, const Table& table);
  CounterWindow& Count(const SignalSource& source, size_t column, double counter);

  const std::optional<std::string> standby_;
  double now_ = 0;
  std::string started_at_;
  std::map<std::pair<std::string_view, size_t>, CounterWindow> windows_;  // by signal and column
  WalTimeline wal_;
  StandbyLag standby_lag_;
  std::string system_;
  int64_t asked_ns_ = 0;
  double own_rollbacks_ = 0;
};

// The one number that a custom query returned.
absl::StatusOr<double> OneNumber(const Table& table);

}  // namespace headgate::postgres
