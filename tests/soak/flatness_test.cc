#include "tests/soak/flatness.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::soak {
namespace {

constexpr FlatnessOptions kTolerant = {.cycle = 15, .share = 0.04, .absolute = 2};

template <typename Value>
std::vector<double> Series(int count, Value value) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(value(i));
  return samples;
}

bool IsFlat(const std::vector<double>& samples) {
  const absl::StatusOr<Judgement> judgement = JudgeFlat(samples, kTolerant);
  EXPECT_TRUE(judgement.ok()) << judgement.status();
  return judgement.ok() && judgement->flat;
}

TEST(Flatness, WhatStaysIsFlat) {
  EXPECT_TRUE(IsFlat(Series(120, [](int) { return 80; })));
}

TEST(Flatness, WhatGrowsOnlyWhileWarmingUpIsFlat) {
  EXPECT_TRUE(IsFlat(Series(120, [](int i) { return i < 48 ? i : 48; })));
}

TEST(Flatness, SteadyLeakIsNot) {
  EXPECT_FALSE(IsFlat(Series(120, [](int i) { return 80 + 0.3 * i; })));
}

TEST(Flatness, LeakInEachCycleIsNot) {
  EXPECT_FALSE(IsFlat(Series(120, [](int i) { return 80 + 4 * (i / 15); })));
}

TEST(Flatness, LeakOnTopOfSawtoothIsNot) {
  EXPECT_FALSE(IsFlat(Series(120, [](int i) { return 80 + 10 * (i % 15) / 15.0 + 0.3 * i; })));
}

TEST(Flatness, SawtoothIsFlat) {
  for (int phase = 0; phase < 15; ++phase) {
    EXPECT_TRUE(IsFlat(Series(120, [&](int i) { return 80 + 2 * ((i + phase) % 15); }))) << phase;
    EXPECT_TRUE(IsFlat(Series(133, [&](int i) { return 80 + 2 * ((i + phase) % 15); }))) << phase;
  }
}

TEST(Flatness, FewSpikesAtTheEndAreFlat) {
  EXPECT_TRUE(IsFlat(Series(120, [](int i) { return i > 110 && i % 3 == 0 ? 200 : 80; })));
}

TEST(Flatness, WhatIsGivenBackDoesNotLiftTheFloor) {
  FlatnessOptions floor = kTolerant;
  floor.quantile = 0.25;
  const auto high_for_a_while = Series(120, [](int i) { return i >= 95 && i < 116 ? 120 : 80; });
  EXPECT_TRUE(JudgeFlat(high_for_a_while, floor)->flat);
  EXPECT_FALSE(JudgeFlat(high_for_a_while, kTolerant)->flat);
  EXPECT_FALSE(JudgeFlat(Series(120, [](int i) { return 80 + 0.3 * i; }), floor)->flat);
}

TEST(Flatness, NeverComparesAWindowWithItself) {
  for (int count = 75; count < 400; ++count) {
    const auto judgement = JudgeFlat(Series(count, [](int i) { return i; }), kTolerant);
    ASSERT_TRUE(judgement.ok()) << judgement.status();
    EXPECT_GE(judgement->end - judgement->baseline, judgement->window) << count;
  }
}

TEST(Flatness, SmallerLeakShowsInLongerRun) {
  const auto leak = [](int i) { return 80 + 0.01 * i; };
  EXPECT_TRUE(IsFlat(Series(120, leak)));
  EXPECT_FALSE(IsFlat(Series(3600, leak)));
}

TEST(Flatness, SaysWhatItCompared) {
  const auto judgement = JudgeFlat(Series(120, [](int i) { return i; }), kTolerant);
  ASSERT_TRUE(judgement.ok()) << judgement.status();
  EXPECT_EQ(judgement->window, 30);
  EXPECT_EQ(judgement->baseline, 75);  // of 60 to 89
  EXPECT_EQ(judgement->end, 105);      // of 90 to 119
  EXPECT_DOUBLE_EQ(judgement->most, 75 * 1.04 + 2);
}

TEST(Flatness, TooFewSamplesAreNotJudged) {
  EXPECT_TRUE(absl::IsInvalidArgument(JudgeFlat(std::vector<double>(74, 1), kTolerant).status()));
  EXPECT_TRUE(JudgeFlat(std::vector<double>(75, 1), kTolerant).ok());
}

}  // namespace
}  // namespace headgate::soak
