// ChunkLog: what a batch job did, chunk by chunk.
//
// Rows and busy time of a chunk that reaches beyond a window count there in part. A chunk is known
// once it has ended. Thread-safe.
//
//   log.Over({.from = a, .to = b}).rows_per_second;
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "tests/load/transactions.h"

namespace headgate::load {

struct Chunk {
  absl::Time began;
  absl::Time ended;
  int64_t rows = 0;
};

struct BatchStats {
  double rows_per_second = 0;
  double chunks_per_second = 0;
  double in_flight = 0;  // busy seconds a second: the average number of chunks at work
  absl::Duration mean_chunk = {};
};

class ChunkLog {
 public:
  void Add(const Chunk& chunk);
  BatchStats Over(const Window& window) const;

 private:
  mutable Mutex mutex_;
  std::vector<Chunk> chunks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::load
