#include "tests/load/chunk_log.h"

#include <algorithm>

namespace headgate::load {

void ChunkLog::Add(const Chunk& chunk) {
  MutexLock lock(&mutex_);
  chunks_.push_back(chunk);
}

BatchStats ChunkLog::Over(const Window& window) const {
  double rows = 0;
  double chunks = 0;
  absl::Duration busy;
  {
    MutexLock lock(&mutex_);
    for (const Chunk& chunk : chunks_) {
      const absl::Duration inside =
          std::min(chunk.ended, window.to) - std::max(chunk.began, window.from);
      if (inside <= absl::ZeroDuration()) continue;
      const double share = absl::FDivDuration(inside, chunk.ended - chunk.began);
      rows += share * static_cast<double>(chunk.rows);
      chunks += share;
      busy += inside;
    }
  }
  const double seconds = absl::ToDoubleSeconds(window.to - window.from);
  BatchStats stats;
  if (seconds <= 0 || chunks <= 0) return stats;
  stats.rows_per_second = rows / seconds;
  stats.chunks_per_second = chunks / seconds;
  stats.in_flight = absl::ToDoubleSeconds(busy) / seconds;
  stats.mean_chunk = busy / chunks;
  return stats;
}

}  // namespace headgate::load
