#include "server/decide/approximate/halving_counters.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace headgate::approximate {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'767'225'600 * kSecond;

double RoomAt(HalvingCounters& counters, uint64_t key, int64_t wall_ns) {
  const auto counter = counters.Find(key, wall_ns);
  return counter.has_value() ? counter->Room() : -1;
}
void Add(HalvingCounters& counters, uint64_t key, int64_t wall_ns, double seconds) {
  auto counter = counters.Find(key, wall_ns);
  ASSERT_TRUE(counter.has_value());
  counter->Add(seconds);
}

TEST(HalvingCounters, AnUnusedBucketHasRoomForASecondAndForWhatHasPassedOfThisOne) {
  HalvingCounters counters(64);
  EXPECT_DOUBLE_EQ(RoomAt(counters, 7, kStart), 1);
  EXPECT_DOUBLE_EQ(RoomAt(counters, 7, kStart + kSecond / 4), 1.25);
}

TEST(HalvingCounters, CutsInHalfAtEachFullSecond) {
  HalvingCounters counters(64);
  Add(counters, 7, kStart + kSecond / 2, 1);
  EXPECT_DOUBLE_EQ(RoomAt(counters, 7, kStart + kSecond - 1), 2 - 1 - 1e-9);
  EXPECT_DOUBLE_EQ(RoomAt(counters, 7, kStart + kSecond), 1 - 0.5);
  EXPECT_DOUBLE_EQ(RoomAt(counters, 7, kStart + 3 * kSecond), 1 - 0.125);
}

TEST(HalvingCounters, ASteadyUseSwingsBetweenOneAndTwoSecondsOfIt) {
  HalvingCounters counters(64);
  for (int tenth = 0; tenth < 100; ++tenth) {
    Add(counters, 7, kStart + tenth * kSecond / 10, 0.05);
  }
  EXPECT_NEAR(RoomAt(counters, 7, kStart + 10 * kSecond - 1), 2 - 1.0, 0.01);
  EXPECT_NEAR(RoomAt(counters, 7, kStart + 10 * kSecond), 1 - 0.5, 0.01);
}

TEST(HalvingCounters, WhoTakesAllTheRoomIsGivenOneASecond) {
  HalvingCounters counters(64);
  double taken = 0;
  for (int step = 0; step < 3000; ++step) {
    auto counter = counters.Find(7, kStart + step * kSecond / 100);
    const double room = counter->Room();
    counter->Add(room);
    taken += room;
  }
  EXPECT_NEAR(taken, 31, 0.2);  // and one at once, at the beginning
}

TEST(HalvingCounters, WallTimeThatIsSetBackGivesNothingBack) {
  HalvingCounters counters(64);
  Add(counters, 7, kStart, 1);
  EXPECT_DOUBLE_EQ(RoomAt(counters, 7, kStart - 3600 * kSecond), 0);
  EXPECT_DOUBLE_EQ(RoomAt(counters, 7, kStart - 3599 * kSecond), 0.5);
}

TEST(HalvingCounters, NeverCountsNothingForALittle) {
  HalvingCounters counters(64);
  for (int i = 0; i < 1000; ++i) Add(counters, 7, kStart, 1e-12);
  EXPECT_LT(RoomAt(counters, 7, kStart), 1);
}

TEST(HalvingCounters, BucketsThatFindNoPlaceAreToldSoAndPlacesOfOldOnesAreTaken) {
  HalvingCounters counters(HalvingCounters::kProbes);
  for (uint64_t key = 1; key <= HalvingCounters::kProbes; ++key) Add(counters, key, kStart, 1);
  EXPECT_FALSE(counters.Find(99, kStart).has_value());
  EXPECT_FALSE(counters.Find(99, kStart + 5 * kSecond).has_value());
  EXPECT_TRUE(counters.Find(99, kStart + 12 * kSecond).has_value());
}

}  // namespace
}  // namespace headgate::approximate
