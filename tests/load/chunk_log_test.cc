// A chunk counts in a window for as much of it as lies there.

#include "tests/load/chunk_log.h"

#include "gtest/gtest.h"

namespace headgate::load {
namespace {

absl::Time At(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

TEST(ChunkLog, CountsThePartOfAChunkThatIsInside) {
  ChunkLog log;
  log.Add({.began = At(0), .ended = At(4), .rows = 1000});
  const BatchStats stats = log.Over({.from = At(3), .to = At(5)});
  EXPECT_DOUBLE_EQ(stats.rows_per_second, 125);
  EXPECT_DOUBLE_EQ(stats.in_flight, 0.5);
  EXPECT_DOUBLE_EQ(stats.chunks_per_second, 0.125);
  EXPECT_EQ(stats.mean_chunk, absl::Seconds(4));
}

TEST(ChunkLog, AddsUpChunksThatRunTogether) {
  ChunkLog log;
  log.Add({.began = At(0), .ended = At(1), .rows = 100});
  log.Add({.began = At(0.5), .ended = At(1), .rows = 200});
  const BatchStats stats = log.Over({.from = At(0), .to = At(1)});
  EXPECT_DOUBLE_EQ(stats.rows_per_second, 300);
  EXPECT_DOUBLE_EQ(stats.in_flight, 1.5);
  EXPECT_EQ(stats.mean_chunk, absl::Milliseconds(750));
}

TEST(ChunkLog, IsZeroWhereNothingRan) {
  ChunkLog log;
  log.Add({.began = At(0), .ended = At(1), .rows = 100});
  EXPECT_EQ(log.Over({.from = At(1), .to = At(2)}).rows_per_second, 0);
}

}  // namespace
}  // namespace headgate::load
