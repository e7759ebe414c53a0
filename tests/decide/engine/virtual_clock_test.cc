#include "server/decide/engine/virtual_clock.h"

#include <array>
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace headgate::engine {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

int64_t ReadAt(const VirtualClock& clock, int64_t real_ns) {
  return clock.Read(real_ns).virtual_ns;
}

TEST(VirtualClock, StartsAtZeroAndRunsInRealTime) {
  const VirtualClock clock(5 * kSecond);
  EXPECT_EQ(ReadAt(clock, 5 * kSecond), 0);
  EXPECT_EQ(ReadAt(clock, 7 * kSecond), 2 * kSecond);
  EXPECT_EQ(clock.Read(0).health.status, HealthStatus::kUnmonitored);
  EXPECT_EQ(clock.Read(0).health.speed, 1);
}

TEST(VirtualClock, RunsAtItsSpeed) {
  VirtualClock clock(0);
  clock.Set({.speed = 0.25}, 0);
  EXPECT_EQ(ReadAt(clock, 8 * kSecond), 2 * kSecond);
  EXPECT_EQ(ReadAt(clock, 3), 0);  // rounded down
  EXPECT_EQ(ReadAt(clock, 4), 1);
}

TEST(VirtualClock, ChangesSpeedFromThatInstantOn) {
  VirtualClock clock(0);
  clock.Set({.speed = 0.5}, 10 * kSecond);
  EXPECT_EQ(ReadAt(clock, 10 * kSecond), 10 * kSecond);
  EXPECT_EQ(ReadAt(clock, 14 * kSecond), 12 * kSecond);
  clock.Set({.speed = 3}, 14 * kSecond);
  EXPECT_EQ(ReadAt(clock, 15 * kSecond), 15 * kSecond);
}

TEST(VirtualClock, SpeedZeroStopsIt) {
  VirtualClock clock(0);
  clock.Set({.speed = 0}, kSecond);
  EXPECT_EQ(ReadAt(clock, kSecond), kSecond);
  EXPECT_EQ(ReadAt(clock, 1000 * kSecond), kSecond);
  EXPECT_EQ(clock.Read(kSecond).RealTimeOf(kSecond + 1), VirtualClock::kNever);
}

TEST(VirtualClock, StaleReaderGetsTheInstantOfTheLastChange) {
  VirtualClock clock(0);
  clock.Set({.speed = 0.5}, 10 * kSecond);
  EXPECT_EQ(ReadAt(clock, 9 * kSecond), 10 * kSecond);
  EXPECT_EQ(ReadAt(clock, 0), 10 * kSecond);
}

TEST(VirtualClock, StaleWriterChangesNothingRetroactively) {
  VirtualClock clock(0);
  clock.Set({.speed = 0.5}, 10 * kSecond);
  clock.Set({.speed = 2}, 4 * kSecond);
  EXPECT_EQ(ReadAt(clock, 10 * kSecond), 10 * kSecond);
  EXPECT_EQ(ReadAt(clock, 11 * kSecond), 12 * kSecond);
}

TEST(VirtualClock, ClampsImpossibleSpeeds) {
  VirtualClock clock(0);
  for (const double speed :
       {-1.0, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    clock.Set({.speed = speed}, 0);
    EXPECT_EQ(clock.Read(0).health.speed, 0);
    EXPECT_EQ(ReadAt(clock, kSecond), 0);
  }
  for (const double speed : {1025.0, 1e300, std::numeric_limits<double>::infinity()}) {
    clock.Set({.speed = speed}, 0);
    EXPECT_EQ(clock.Read(0).health.speed, 1024);
    EXPECT_EQ(ReadAt(clock, kSecond), 1024 * kSecond);
  }
}

TEST(VirtualClock, StopsAtTheHorizon) {
  VirtualClock clock(0);
  clock.Set({.speed = 1024}, 0);
  constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ReadAt(clock, kLatest), VirtualClock::kHorizonNs);
  clock.Set({.speed = 1}, VirtualClock::kHorizonNs);
  EXPECT_EQ(ReadAt(clock, kLatest), VirtualClock::kHorizonNs);
  EXPECT_EQ(clock.Read(kLatest).RealTimeOf(VirtualClock::kHorizonNs + 1), VirtualClock::kNever);
}

TEST(VirtualClock, RealTimeBeyondTheHorizonIsNever) {
  VirtualClock clock(0);
  clock.Set({.speed = 1e-9}, 0);
  EXPECT_EQ(clock.Read(0).RealTimeOf(int64_t{1} << 61), VirtualClock::kNever);
}

class VirtualClockSpeed : public testing::TestWithParam<double> {};

TEST_P(VirtualClockSpeed, RealTimeOfIsTheFirstInstantThatShowsIt) {
  VirtualClock clock(0);
  clock.Set({.speed = GetParam()}, 12'345);
  const VirtualClock::Reading reading = clock.Read(12'345);
  for (const int64_t ahead :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{999'999'937}, int64_t{86'400} * kSecond}) {
    const int64_t at = reading.virtual_ns + ahead;
    const int64_t real = reading.RealTimeOf(at);
    ASSERT_NE(real, VirtualClock::kNever);
    EXPECT_GE(ReadAt(clock, real), at);
    EXPECT_LT(ReadAt(clock, real - 1), at);
  }
}

INSTANTIATE_TEST_SUITE_P(Speeds, VirtualClockSpeed,
                         testing::Values(1.0, 0.25, 0.3, 1.0 / 3, 0.001, 1e-4, 3.0, 7.77, 1024.0));

TEST(VirtualClock, RealTimeOfThePastIsTheLastChange) {
  VirtualClock clock(0);
  clock.Set({.speed = 0.5}, 10);
  EXPECT_EQ(clock.Read(20).RealTimeOf(7), 10);
}

TEST(VirtualClock, ReturnsAllOfTheHealthThatWasSet) {
  VirtualClock clock(0);
  clock.Set({.speed = 0.75,
             .status = HealthStatus::kStale,
             .gate_shut = true,
             .pressure = 1.5F,
             .signal = 300,
             .sampled_at_ns = 123,
             .next_sample_at_ns = 456},
            10);
  const Health health = clock.Read(10).health;
  EXPECT_EQ(health.speed, 0.75);
  EXPECT_EQ(health.status, HealthStatus::kStale);
  EXPECT_TRUE(health.gate_shut);
  EXPECT_EQ(health.pressure, 1.5F);
  EXPECT_EQ(health.signal, 300);
  EXPECT_EQ(health.sampled_at_ns, 123);
  EXPECT_EQ(health.next_sample_at_ns, 456);
}

TEST(VirtualClock, KeepsNoSignalAndNegativePressureApart) {
  VirtualClock clock(0);
  EXPECT_EQ(clock.Read(0).health.signal, -1);
  clock.Set({.pressure = -2.5F, .signal = -1}, 0);
  EXPECT_EQ(clock.Read(0).health.signal, -1);
  EXPECT_EQ(clock.Read(0).health.pressure, -2.5F);
  EXPECT_FALSE(clock.Read(0).health.gate_shut);
}

TEST(VirtualClock, NeverRunsBackwardsForAReaderWhileItsSpeedChanges) {
  VirtualClock clock(0);
  std::atomic<int64_t> real{0};
  std::atomic<bool> done{false};
  std::array<int, 3> backwards{};
  std::vector<std::thread> readers;
  for (int& count : backwards) {
    readers.emplace_back([&] {
      int64_t last = 0;
      while (!done.load()) {
        const int64_t now = ReadAt(clock, real.load());
        count += now < last;
        last = now;
      }
    });
  }
  constexpr std::array<double, 4> kSpeeds = {1, 0.25, 0, 3};
  for (int i = 0; i < 200'000; ++i) {
    clock.Set({.speed = kSpeeds[static_cast<size_t>(i) % 4]}, real.fetch_add(1000) + 1000);
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(backwards, (std::array<int, 3>{}));
}

TEST(VirtualClock, ReadersSeeHealthOfOneUpdate) {
  VirtualClock clock(0);
  clock.Set({.speed = 0, .sampled_at_ns = 0, .next_sample_at_ns = 0}, 0);
  std::atomic<bool> done{false};
  int torn = 0;
  std::thread reader([&] {
    while (!done.load()) {
      const Health health = clock.Read(0).health;
      torn += health.next_sample_at_ns != 2 * health.sampled_at_ns ||
              health.speed != static_cast<double>(health.sampled_at_ns % 8);
    }
  });
  for (int64_t i = 1; i < 200'000; ++i) {
    clock.Set({.speed = static_cast<double>(i % 8), .sampled_at_ns = i, .next_sample_at_ns = 2 * i},
              0);
  }
  done.store(true);
  reader.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace headgate::engine
