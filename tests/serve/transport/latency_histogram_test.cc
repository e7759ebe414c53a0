#include "server/serve/transport/latency_histogram.h"

#include "gtest/gtest.h"

namespace headgate::transport {
namespace {

TEST(LatencyHistogram, PutsABoundIntoItsOwnBucketAndWhatIsLongerIntoTheNext) {
  EXPECT_EQ(LatencyCounts::BucketOf(0), 0);
  EXPECT_EQ(LatencyCounts::BucketOf(128), 0);
  EXPECT_EQ(LatencyCounts::BucketOf(129), 1);
  EXPECT_EQ(LatencyCounts::BucketOf(1024), 3);
  EXPECT_EQ(LatencyCounts::BucketOf(1025), 4);
  for (size_t i = 0; i + 1 < LatencyCounts::kBuckets; ++i) {
    EXPECT_EQ(LatencyCounts::BucketOf(LatencyCounts::UpperBoundNs(i)), i);
    EXPECT_EQ(LatencyCounts::BucketOf(LatencyCounts::UpperBoundNs(i) + 1), i + 1);
  }
}

TEST(LatencyHistogram, CountsWhatIsBeyondTheLastBound) {
  LatencyHistogram histogram;
  histogram.Add(int64_t{1} << 62);
  EXPECT_EQ(histogram.Read().buckets[LatencyCounts::kBuckets - 1], 1);
}

TEST(LatencyHistogram, AddsUpAndTakesAClockThatJumpedBackForNoTime) {
  LatencyHistogram histogram;
  histogram.Add(100);
  histogram.Add(200);
  histogram.Add(-5);
  LatencyHistogram other;
  other.AddShared(1000);
  LatencyCounts all = histogram.Read();
  all.Add(other.Read());
  EXPECT_EQ(all.buckets[0], 2);
  EXPECT_EQ(all.buckets[1], 1);
  EXPECT_EQ(all.buckets[3], 1);
  EXPECT_EQ(all.sum_ns, 1300);
}

}  // namespace
}  // namespace headgate::transport
