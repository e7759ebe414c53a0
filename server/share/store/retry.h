// Retry: how often, and how far apart, a transaction is tried that the store rolled back because of
// others.
//
// PostgreSQL says so by 40001 (serialization failure) and 40P01 (deadlock), which
// server/observe/postgres makes Aborted: nothing of the transaction has happened, and the same one
// may well succeed now. It is tried again as a whole. Pauses double, and each is drawn from its
// upper half, so that those who met once do not meet again. Any other error is the caller's at
// once, and so is the last one.
//
// Thread-compatible. Pausing is the caller's; randomness comes from the seed.
//
//   Retry retry({}, seed);
//   absl::Status status = retry.Run(transaction, pause);
#pragma once

#include <cstdint>
#include <random>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::store {

class Retry {
 public:
  struct Options {
    int attempts = 8;  // in all
    absl::Duration first = absl::Milliseconds(4);
    absl::Duration longest = absl::Milliseconds(64);
  };

  Retry(const Options& options, uint64_t seed) : options_(options), random_(seed) {}

  // An error of `pause` ends it: no time is left, or nobody waits any more.
  absl::Status Run(absl::FunctionRef<absl::Status()> transaction,
                   absl::FunctionRef<absl::Status(absl::Duration)> pause);

  // Attempts so far that the store rolled back.
  int64_t rolled_back() const { return rolled_back_; }

 private:
  absl::Duration PauseAfter(int failures);

  const Options options_;
  std::mt19937_64 random_;
  int64_t rolled_back_ = 0;
};

}  // namespace headgate::store
