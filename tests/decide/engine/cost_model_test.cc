#include "server/decide/engine/cost_model.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {
namespace {

constexpr double kNone = CostModel::kNone;
constexpr CostSubject kWork{.target = 11, .root = 22, .pattern = 33};

uint64_t OwnerKey(const CostSubject& work) { return work.Owner(); }
uint64_t PatternKey(const CostSubject& work) {
  return CostSubject::PatternKey(work.Owner(), work.pattern);
}

double Predict(const CostModel& costs, const CostSubject& work, double estimate) {
  return costs.PredictCost(OwnerKey(work), PatternKey(work), estimate).value;
}
double PredictBusy(const CostModel& costs, const CostSubject& work, double estimate) {
  return costs.PredictBusyTime(OwnerKey(work), PatternKey(work), estimate).value;
}

void Learn(CostModel& costs, const CostSubject& work, double estimate, double cost) {
  costs.Learn({.subject = work, .estimate = estimate, .cost = cost, .charged_cost = {}});
}
void LearnBusy(CostModel& costs, const CostSubject& work, double estimate, double seconds,
               std::optional<double> charged = {}) {
  costs.Learn({.subject = work,
               .estimate = estimate,
               .busy_seconds = seconds,
               .charged_busy_seconds = charged});
}

CostSubject WithPattern(uint64_t pattern) {
  CostSubject work = kWork;
  work.pattern = pattern;
  return work;
}

TEST(CostModel, KnowsNothingAtFirst) {
  const CostModel costs(64);
  EXPECT_EQ(Predict(costs, kWork, 10), 10);
  EXPECT_EQ(Predict(costs, kWork, kNone), kNone);
  EXPECT_EQ(PredictBusy(costs, kWork, 10), kNone);
  EXPECT_EQ(costs.Ratio(PatternKey(kWork)), std::nullopt);
  EXPECT_EQ(costs.PredictCost(OwnerKey(kWork), PatternKey(kWork), 10).by, nullptr);
}

TEST(CostModel, PredictsEstimateTimesRatio) {
  CostModel costs(64);
  Learn(costs, kWork, 10, 25);
  EXPECT_DOUBLE_EQ(*costs.Ratio(PatternKey(kWork)), 2.5);
  EXPECT_DOUBLE_EQ(Predict(costs, kWork, 4), 10);
}

TEST(CostModel, RatioIsThatOfTwoAverages) {
  CostModel costs(64);
  Learn(costs, kWork, 10, 10);
  Learn(costs, kWork, 30, 70);
  // 40 / 20; the mean of the ratios would be 1.67
  EXPECT_DOUBLE_EQ(*costs.Ratio(PatternKey(kWork)), 2);
}

TEST(CostModel, RecentValuesWeighMore) {
  CostModel costs(64);
  for (int i = 0; i < 50; ++i) Learn(costs, kWork, 1, 1);
  Learn(costs, kWork, 1, 5);
  EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), 1.5, 1e-6);  // an eighth of the way
  for (int i = 0; i < 100; ++i) Learn(costs, kWork, 1, 5);
  EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), 5, 1e-4);
}

TEST(CostModel, WhatWasAlwaysRightIsPredictedToTheLastBit) {
  CostModel costs(64);
  for (const double cost : {0.1, 7.3, 1e-3, 123456.789, 4.0}) Learn(costs, kWork, cost, cost);
  for (const double cost : {0.1, 4.0, 4.1, 1234567.891}) {
    EXPECT_EQ(Predict(costs, kWork, cost), cost);
  }
}

TEST(CostModel, UnknownPatternUsesTheRootsRatio) {
  CostModel costs(64);
  Learn(costs, kWork, 10, 30);
  EXPECT_DOUBLE_EQ(Predict(costs, WithPattern(44), 5), 15);
  EXPECT_DOUBLE_EQ(Predict(costs, WithPattern(0), 5), 15);
}

TEST(CostModel, NobodyElsePredictsWithIt) {
  CostModel costs(64);
  Learn(costs, kWork, 10, 30);
  LearnBusy(costs, kWork, 10, 30);
  for (CostSubject other :
       {CostSubject{12, 22, 0, 33}, CostSubject{11, 23, 0, 33}, CostSubject{11, 22, 1, 33}}) {
    EXPECT_EQ(Predict(costs, other, 5), 5);
    EXPECT_EQ(PredictBusy(costs, other, 5), kNone);
    other.pattern = 0;
    EXPECT_EQ(Predict(costs, other, 5), 5);
  }
}

TEST(CostModel, WithoutAnEstimatePredictsThePatternsMeanActual) {
  CostModel costs(64);
  Learn(costs, kWork, kNone, 5);
  Learn(costs, kWork, 5, 9);
  EXPECT_DOUBLE_EQ(Predict(costs, kWork, kNone), 7);
  EXPECT_EQ(Predict(costs, WithPattern(0), kNone), kNone);
}

TEST(CostModel, PatternWithoutEstimatesHasNoRatio) {
  CostModel costs(64);
  Learn(costs, kWork, kNone, 20);
  EXPECT_EQ(costs.Ratio(PatternKey(kWork)), std::nullopt);
  EXPECT_DOUBLE_EQ(Predict(costs, kWork, 4), 4);
}

TEST(CostModel, ZeroEstimatesGiveNoRatio) {
  CostModel costs(64);
  Learn(costs, kWork, 0, 20);
  EXPECT_EQ(costs.Ratio(PatternKey(kWork)), std::nullopt);
  EXPECT_EQ(Predict(costs, kWork, 0), 0);
}

TEST(CostModel, OneReportMovesARatioEightfoldAtMostAndTwofoldOnceFourHaveTaughtIt) {
  CostModel costs(64);
  for (const double ratio : {8.0, 64.0, 512.0, 4096.0, 8192.0, 16384.0}) {
    Learn(costs, kWork, 1, kMaxAmount);
    EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), ratio, ratio * 1e-6);
  }
  Learn(costs, kWork, 1, 0);
  EXPECT_GE(*costs.Ratio(PatternKey(kWork)), 8192 * (1 - 1e-6));
}

TEST(CostModel, OneReportMovesAMeanLikewise) {
  CostModel costs(64);
  costs.Learn({.subject = kWork, .cost = kMaxAmount, .charged_cost = 5.0});
  EXPECT_DOUBLE_EQ(Predict(costs, kWork, kNone), 40);
  costs.Learn({.subject = kWork, .cost = 0.0, .charged_cost = 5.0});
  EXPECT_DOUBLE_EQ(Predict(costs, kWork, kNone), 20);  // which is also the mean of both
}

// Honest Reports until the ratio is within a tenth of 1 again.
int HonestUntilRight(CostModel& costs) {
  int honest = 0;
  while (std::abs(*costs.Ratio(PatternKey(kWork)) - 1) > 0.1 && honest < 200) {
    Learn(costs, kWork, 10, 10);
    ++honest;
  }
  return honest;
}

// Rows reported in thousands, bytes as rows, milliseconds as seconds.
TEST(CostModel, AsManyHonestReportsAsWrongOnesUndoThem) {
  for (const double wrong : {1000.0, 1e-3, 1024.0, 60.0, 10.0, 0.01, 1e6, 1e-6}) {
    for (const int before : {0, 1, 2, 3, 4, 8, 30}) {
      for (int reports = 1; reports <= 7; ++reports) {
        CostModel costs(64);
        for (int i = 0; i < before; ++i) Learn(costs, kWork, 10, 10);
        for (int i = 0; i < reports; ++i) Learn(costs, kWork, 10, 10 * wrong);
        EXPECT_LE(HonestUntilRight(costs), reports)
            << reports << " Reports of " << wrong << " times, after " << before;
        // And it is as sure as it was.
        for (int i = 0; i < 3; ++i) Learn(costs, kWork, 10, 10);
        EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), 1, 0.05);
      }
    }
  }
}

TEST(CostModel, AsManyUndoWrongMeansAndBusyTimes) {
  for (const double wrong : {1000.0, 1e-3, 60.0}) {
    for (const int before : {4, 30}) {
      CostModel costs(64);
      for (int i = 0; i < before; ++i) LearnBusy(costs, kWork, 1000, 0.02, 0.02);
      const auto learn_mean = [&costs](double cost) {
        costs.Learn({.subject = WithPattern(44), .cost = cost, .charged_cost = 500.0});
      };
      for (int i = 0; i < before; ++i) learn_mean(500);
      for (int i = 0; i < 3; ++i) LearnBusy(costs, kWork, 1000, 0.02 * wrong, 0.02);
      for (int i = 0; i < 3; ++i) learn_mean(500 * wrong);
      for (int i = 0; i < 3; ++i) LearnBusy(costs, kWork, 1000, 0.02, 0.02);
      for (int i = 0; i < 3; ++i) learn_mean(500);
      EXPECT_NEAR(PredictBusy(costs, kWork, 1000), 0.02, 0.002) << wrong;
      EXPECT_NEAR(PredictBusy(costs, kWork, kNone), 0.02, 0.002) << wrong;
      EXPECT_NEAR(Predict(costs, WithPattern(44), kNone), 500, 50) << wrong;
    }
  }
}

TEST(CostModel, HonestReportsAmongWrongOnesTakeThemBackOneByOne) {
  CostModel costs(64);
  for (int i = 0; i < 30; ++i) Learn(costs, kWork, 10, 10);
  for (const double cost : {1e4, 1e4, 10.0, 1e4, 10.0, 10.0}) Learn(costs, kWork, 10, cost);
  EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), 1, 0.01);
}

// What lasts is no mistake: as many as an average remembers, and it is what it is.
TEST(CostModel, WorkThatHasBecomeAnotherIsLearntAsFastAsEver) {
  for (const double now : {1000.0, 1e-3}) {
    CostModel costs(64);
    for (int i = 0; i < 30; ++i) Learn(costs, kWork, 10, 10);
    for (int i = 0; i < (now > 1 ? 14 : 60); ++i) Learn(costs, kWork, 10, 10 * now);
    EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)) / now, 1, 0.5) << now;
    // One that is as the work was is the mistake now.
    Learn(costs, kWork, 10, 10);
    Learn(costs, kWork, 10, 10 * now);
    EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)) / now, 1, 0.5) << now;
  }
}

// Else what is rare and large would be charged a hundredth of what it costs, for ever.
TEST(CostModel, WorkThatDiffersSoMuchIsNoMistake) {
  for (const int one_of : {2, 3, 4, 5}) {
    CostModel costs(64);
    double predicted = 0;
    for (int i = 0; i < 2000; ++i) {
      Learn(costs, kWork, 10, i % one_of == 0 ? 1000 : 10);
      if (i >= 1000) predicted += *costs.Ratio(PatternKey(kWork)) / 1000;
    }
    const double mean = (100.0 + one_of - 1) / one_of;
    EXPECT_GT(predicted, mean / 5) << one_of;
    EXPECT_LT(predicted, mean * 3) << one_of;
  }
}

TEST(CostModel, WhatVariesAsUsualIsAveraged) {
  CostModel costs(64);
  for (int i = 0; i < 400; ++i) Learn(costs, kWork, 10, i % 2 == 0 ? 10 : 70);
  EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), 4, 0.6);
}

TEST(CostModel, AFirstReportIsHeldAgainstTheRootsRatio) {
  CostModel costs(64);
  for (int i = 0; i < 20; ++i) Learn(costs, kWork, 1, 5);
  const double root = *costs.Ratio(OwnerKey(kWork));
  Learn(costs, WithPattern(44), 1, kMaxAmount);
  EXPECT_NEAR(*costs.Ratio(PatternKey(WithPattern(44))), 8 * root, 1e-3);
}

TEST(CostModel, AHugeEstimateWeighsNoMoreThanEightUsualOnes) {
  CostModel costs(64);
  for (int i = 0; i < 20; ++i) Learn(costs, kWork, 100, 100);
  Learn(costs, kWork, kMaxAmount, kMaxAmount / 2);
  for (int i = 0; i < 20; ++i) Learn(costs, kWork, 100, 100);
  EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), 1, 0.05);
}

TEST(CostModel, AFirstEstimateThatWasHugeIsOutweighed) {
  CostModel costs(64);
  Learn(costs, kWork, kMaxAmount, kMaxAmount / 8);
  for (int i = 0; i < 250; ++i) Learn(costs, kWork, 100, 100);
  EXPECT_NEAR(*costs.Ratio(PatternKey(kWork)), 1, 0.05);
}

TEST(CostModel, WhatCostNothingIsPredictedLessAndLess) {
  CostModel costs(64);
  for (int i = 0; i < 400; ++i) Learn(costs, kWork, 10, 0);
  EXPECT_LT(Predict(costs, kWork, 10), 1e-6);
  // And rises again.
  for (int i = 0; i < 40; ++i) Learn(costs, kWork, 10, 10);
  EXPECT_GT(Predict(costs, kWork, 10), 9);
}

TEST(CostModel, BusyTimeOfAFirstReportMayBeAsShortAsItLikes) {
  CostModel costs(64);
  LearnBusy(costs, kWork, 10'000, 0.02, 10);
  EXPECT_NEAR(PredictBusy(costs, kWork, 5'000), 0.01, 1e-8);
  EXPECT_EQ(Predict(costs, kWork, 10'000), 10'000);  // of its cost nothing was learnt
}

TEST(CostModel, BusyTimeOfAFirstReportIsEightTimesTheChargeAtMost) {
  CostModel costs(64);
  LearnBusy(costs, kWork, 100, 3000, 0.5);
  EXPECT_NEAR(PredictBusy(costs, kWork, 100), 4, 1e-6);
}

TEST(CostModel, BusyTimeThatWasChargedNothingIsTakenAsItIs) {
  CostModel costs(64);
  LearnBusy(costs, kWork, 10, 0.25, 1);
  LearnBusy(costs, WithPattern(44), kNone, 0.5);  // a budget that only warned
  EXPECT_NEAR(PredictBusy(costs, WithPattern(44), kNone), 0.5, 1e-8);
}

TEST(CostModel, BusyTimeWithoutAnEstimateIsAMean) {
  CostModel costs(64);
  LearnBusy(costs, kWork, kNone, 0.25, 1);
  EXPECT_NEAR(PredictBusy(costs, kWork, kNone), 0.25, 1e-8);
  EXPECT_NEAR(PredictBusy(costs, kWork, 50), 0.25, 1e-8);
  EXPECT_NEAR(PredictBusy(costs, WithPattern(44), kNone), 0.25, 1e-8);  // the root's
}

TEST(CostModel, NeverPredictsMoreThanACostMayBe) {
  CostModel costs(64);
  Learn(costs, kWork, 1e-300, kMaxAmount);
  for (int i = 0; i < 200; ++i) Learn(costs, kWork, 1e-30, kMaxAmount);
  for (const double estimate : {0.0, 1e-300, 1.0, kMaxAmount}) {
    const double predicted = Predict(costs, kWork, estimate);
    EXPECT_GE(predicted, 0);
    EXPECT_LE(predicted, kMaxAmount);
  }
  EXPECT_LE(Predict(costs, kWork, kNone), kMaxAmount);
}

TEST(CostModel, TheLeastEstimateLeavesNumbers) {
  CostModel costs(64);
  Learn(costs, kWork, 1, 1);
  Learn(costs, kWork, 5e-324, 0);
  EXPECT_GT(Predict(costs, kWork, 1), 0);
  EXPECT_LE(Predict(costs, kWork, 1), 1);
}

TEST(CostModel, PatternLongestWithoutAReportGivesWay) {
  CostModel costs(1);  // one set of four, of which one is the root's
  for (uint64_t pattern = 1; pattern <= 3; ++pattern) Learn(costs, WithPattern(pattern), 1, 2);
  Learn(costs, WithPattern(1), 1, 2);  // pattern 2 is the oldest now
  Learn(costs, WithPattern(4), 1, 2);
  EXPECT_EQ(costs.Ratio(PatternKey(WithPattern(2))), std::nullopt);
  for (const uint64_t pattern : {1, 3, 4}) {
    EXPECT_TRUE(costs.Ratio(PatternKey(WithPattern(pattern))).has_value());
  }
}

TEST(CostModel, AFloodOfPatternsPushesOutItsOwnersOwn) {
  CostModel costs(1);  // one set of four
  Learn(costs, {.target = 1, .root = 1}, 1, 2);
  const CostSubject honest{.target = 1, .root = 1};
  for (uint64_t pattern = 1; pattern <= 1000; ++pattern) Learn(costs, WithPattern(pattern), 1, 7);
  EXPECT_EQ(costs.Ratio(OwnerKey(honest)), 2);
}

TEST(CostModel, NewcomerStartsAfresh) {
  CostModel costs(1);
  for (uint64_t pattern = 1; pattern <= 20; ++pattern) {
    CostSubject work{.target = pattern, .root = 9};
    Learn(costs, work, 4, static_cast<double>(pattern));
    EXPECT_DOUBLE_EQ(*costs.Ratio(OwnerKey(work)), static_cast<double>(pattern) / 4);
  }
}

TEST(CostModel, NamesAreThoseThatWereNoted) {
  CostModel costs(64);
  EXPECT_TRUE(costs.PredictCost(OwnerKey(kWork), PatternKey(kWork), 1).unnamed);
  costs.NoteNames(kWork, {.root = "etl", .caller = "dbt", .pattern = std::string(200, 'p')});
  Learn(costs, kWork, 1, 2);
  EXPECT_FALSE(costs.PredictCost(OwnerKey(kWork), PatternKey(kWork), 1).unnamed);
  int entries = 0;
  costs.ForEach([&](const CostModel::Entry& entry) {
    ++entries;
    EXPECT_EQ(entry.names.root, "etl");
    EXPECT_EQ(entry.names.caller, "dbt");
    EXPECT_EQ(entry.names.pattern.size(), entry.subject.pattern == 0 ? 0U : 128U);
    EXPECT_EQ(entry.reports, 1U);
  });
  EXPECT_EQ(entries, 2);
}

TEST(CostModel, NoCharacterOfALongNameIsCutInTwo) {
  const std::string euros = "ab" + std::string("\xe2\x82\xac") + std::string(130, 'x');
  std::string name;
  while (name.size() < 127) name += "x";
  name += "\xe2\x82\xac";
  EXPECT_EQ(CostNames::Keep({.root = name})->root.size(), 127U);
  EXPECT_EQ(CostNames::Keep({.root = euros})->root, euros.substr(0, 128));
}

TEST(CostModel, ForgetsWhatItIsTold) {
  CostModel costs(64);
  Learn(costs, kWork, 10, 30);
  costs.ForgetIf([](const CostModel::Entry& entry) { return entry.subject.pattern == 33; });
  EXPECT_EQ(costs.Ratio(PatternKey(kWork)), std::nullopt);
  EXPECT_DOUBLE_EQ(Predict(costs, kWork, 5), 15);  // by the root's
  costs.ForgetIf([](const CostModel::Entry&) { return true; });
  EXPECT_EQ(Predict(costs, kWork, 5), 5);
  Learn(costs, kWork, 10, 20);
  EXPECT_DOUBLE_EQ(*costs.Ratio(PatternKey(kWork)), 2);
}

}  // namespace
}  // namespace headgate::engine
