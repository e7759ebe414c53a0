// StandbyLag: how many seconds a standby is behind the primary, from what it says of itself and
// from where the primary is.
//
// - 0 where it has replayed all that the primary had written at the last look, and is fed.
// - Else the age of the oldest WAL that it lacks. The primary's positions bound that on both sides,
//   and within the bounds the age of the last transaction that was replayed says more: alone it
//   would take a quiet night for a night's lag. One that waits for more from a server that feeds it
//   lacks WAL for as long as the primary was seen beyond it.
// - One that nobody feeds is behind for as long as that, though there may be nothing to be had.
// - Where the primary's position is not known, or not comparable, an error: never 0.
//
// Thread-compatible. Times are monotonic nanoseconds.
//
//   StandbyLag lag(position);
//   std::optional<absl::StatusOr<double>> seconds = lag.Read(state, began_ns);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "server/observe/postgres/primary_position.h"

namespace headgate::postgres {

class StandbyLag {
 public:
  // What a standby says of itself.
  struct State {
    bool is_fed = false;        // it streams, from the primary or another standby
    bool has_replayed = false;  // all that it received
    std::optional<double> age;  // seconds since the last transaction that was replayed
    WalPosition replayed;
  };

  // Null: nothing can be compared.
  explicit StandbyLag(std::shared_ptr<const PrimaryPosition> primary)
      : primary_(std::move(primary)) {}

  // Of a state at `at_ns`. Absent: the next one will tell.
  std::optional<absl::StatusOr<double>> Read(const State& state, int64_t at_ns);
  // Another server, or a restarted one.
  void Clear();

 private:
  // Once, until there is something to compare with.
  bool Defer();

  const std::shared_ptr<const PrimaryPosition> primary_;
  std::optional<int64_t> fed_at_ns_;  // when it last was at the primary's position, and fed
  bool has_deferred_ = false;
};

}  // namespace headgate::postgres
