#include <headgate/chunk_size.h>

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace headgate::client {
namespace {

int64_t After(ChunkSize size, std::optional<double> scale) {
  size.Follow({.chunk_scale = scale});
  return size.rows();
}

TEST(ChunkSize, FollowsAdviceDownAtOnceAndUpByDoubling) {
  const ChunkSize size({.start = 800});
  EXPECT_EQ(After(size, std::nullopt), 800);
  EXPECT_EQ(After(size, 1.5), 1200);
  EXPECT_EQ(After(size, 16), 1600);
  EXPECT_EQ(After(size, 0.0625), 50);
}

TEST(ChunkSize, GrowsToWhatIsAdvisedWithoutABoundOfItsOwn) {
  ChunkSize size({.start = 1});
  for (int i = 0; i < 30; ++i) size.Follow({.chunk_scale = 16});
  EXPECT_EQ(size.rows(), int64_t{1} << 30);
  for (int i = 0; i < 60; ++i) size.Follow({.chunk_scale = 16});
  EXPECT_EQ(size.rows(), std::numeric_limits<int64_t>::max());
}

// Advice to grow is never below 1.5; rounded down, a chunk of one row would stay as it is.
TEST(ChunkSize, OfOneRowGrows) { EXPECT_EQ(After(ChunkSize({.start = 1}), 1.5), 2); }

TEST(ChunkSize, StaysWithinTheJobsBounds) {
  const ChunkSize size({.start = 100, .smallest = 80, .largest = 150});
  EXPECT_EQ(After(size, 16), 150);
  EXPECT_EQ(After(size, 0.1), 80);
  EXPECT_EQ(ChunkSize({.start = 5, .smallest = 10}).rows(), 10);
  EXPECT_EQ(ChunkSize({.start = 500, .largest = 10}).rows(), 10);
  EXPECT_EQ(ChunkSize({.start = -1, .smallest = -7}).rows(), 1);
  EXPECT_EQ(ChunkSize({.start = 500, .smallest = 20, .largest = 10}).rows(), 20);
}

TEST(ChunkSize, BearsAdviceThatIsNone) {
  const ChunkSize size({.start = 100});
  for (const double none : {0.0, -3.0, std::nan("")}) EXPECT_EQ(After(size, none), 100) << none;
  EXPECT_EQ(After(size, std::numeric_limits<double>::infinity()), 200);
  EXPECT_EQ(After(size, 1e-300), 1);
}

}  // namespace
}  // namespace headgate::client
