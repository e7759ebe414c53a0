// What a controller learnt, as text: read back as it was, and refused where no controller has
// written it.

#include "server/observe/control/learnt_control.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "common/strings.h"
#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"
#include "server/observe/control/effect_estimate.h"
#include "tests/testing/test_scale.h"

namespace headgate::control {
namespace {

LearntControl Some() {
  WorkLimits limits(ControlOptions{.cores = 4, .max_rate = 8});
  limits.Age(100, 0.3);
  LearntControl learnt{.at_wall_ns = 1'767'225'600'000'000'000,
                       .options = {.tolerance = 0.1 / 3, .cores = 4, .max_rate = 8, .seed = 5},
                       .foreground = Foreground::kBusy,
                       .indicators = limits.Learnt()};
  learnt.indicators[2].ever = true;
  learnt.indicators[2].usual = 1e-7 / 3;
  learnt.indicators[4].usual = 1234.5678901234567;
  return learnt;
}

TEST(LearntControl, ReadsWhatItWrote) {
  const LearntControl learnt = Some();
  const absl::StatusOr<LearntControl> read = ParseLearntControl(ToText(learnt));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at_wall_ns, learnt.at_wall_ns);
  EXPECT_EQ(read->foreground, Foreground::kBusy);
  EXPECT_TRUE(read->IsWith(learnt.options));
  EXPECT_TRUE(read->indicators[2].ever);
  EXPECT_FALSE(read->indicators[1].ever);
  EXPECT_EQ(read->indicators[2].usual, learnt.indicators[2].usual);
  EXPECT_EQ(read->indicators[2].unseen_for, 100);
  for (size_t cell = 0; cell < LimitBelief::kCells; ++cell) {
    EXPECT_NEAR(read->indicators[0].limits[cell], learnt.indicators[0].limits[cell], 1e-6);
  }
}

TEST(LearntControl, FitsIntoWhatTheEngineCarries) {
  LearntControl learnt = Some();
  learnt.at_wall_ns = std::numeric_limits<int64_t>::max();
  learnt.options.tolerance = learnt.options.max_rate = 1e-300 / 3;
  for (LearntIndicator& indicator : learnt.indicators) {
    indicator.noise = 1e-5 / 3;
    indicator.unseen_for = 1e-300 / 3;
    indicator.usual = 1e-8 / 3;
    indicator.limits.fill(1.0 / LimitBelief::kCells);
  }
  learnt.yielding = learnt.indicators;
  EXPECT_LT(ToText(learnt).size(), engine::kMaxControlBytes * 2 / 3);
  EXPECT_TRUE(ParseLearntControl(ToText(learnt)).ok());
}

// It is as it was before there was such a thing, so that a server of before reads it.
TEST(LearntControl, WithoutYieldingItIsOfTheFirstVersion) {
  EXPECT_TRUE(absl::StartsWith(ToText(Some()), "headgate control 1\n"));
}

TEST(LearntControl, ReadsWhatItWroteOfYielding) {
  LearntControl learnt = Some();
  learnt.yielding = learnt.indicators;
  (*learnt.yielding)[3].ever = true;
  (*learnt.yielding)[3].usual = 17;
  const std::string text = ToText(learnt);
  EXPECT_TRUE(absl::StartsWith(text, "headgate control 2\n"));
  const absl::StatusOr<LearntControl> read = ParseLearntControl(text);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->yielding.has_value());
  EXPECT_EQ((*read->yielding)[3].usual, 17);
  EXPECT_EQ(read->indicators[3].usual, 0);
  EXPECT_EQ(read->indicators[2].usual, learnt.indicators[2].usual);
  EXPECT_FALSE(ParseLearntControl(absl::StrReplaceAll(text, {{"control 2", "control 1"}})).ok());
}

TEST(LearntControl, IsOfUseWithTheSameOptionsAlone) {
  const LearntControl learnt = Some();
  ControlOptions options = learnt.options;
  options.seed = 77;
  EXPECT_TRUE(learnt.IsWith(options));
  for (double ControlOptions::*option :
       {&ControlOptions::tolerance, &ControlOptions::latency_tolerance,
        &ControlOptions::tail_tolerance, &ControlOptions::cores, &ControlOptions::max_rate}) {
    ControlOptions other = options;
    other.*option *= 1.01;
    EXPECT_FALSE(learnt.IsWith(other));
  }
}

TEST(LearntControl, AClockThatIsALittleBehindMakesItNoYoungerThanNow) {
  LearntControl learnt;
  learnt.at_wall_ns = 50'000'000'000;
  EXPECT_DOUBLE_EQ(learnt.SecondsUntil(52'500'000'000), 2.5);
  EXPECT_EQ(learnt.SecondsUntil(49'000'000'000), 0);
  EXPECT_EQ(learnt.SecondsUntil(40'000'000'000), 0);
  EXPECT_GT(learnt.SecondsUntil(std::numeric_limits<int64_t>::max()), 9e9);
}

// How old it is nobody knows then.
TEST(LearntControl, AClockThatIsFarBehindMakesItForgotten) {
  LearntControl learnt;
  learnt.at_wall_ns = 50'000'000'000;
  EXPECT_EQ(learnt.SecondsUntil(39'999'000'000), 3600);
  EXPECT_EQ(learnt.SecondsUntil(0), 3600);
  EXPECT_EQ(learnt.SecondsUntil(std::numeric_limits<int64_t>::min()), 3600);
}

TEST(LearntControl, WhatNoControllerWroteIsRefused) {
  const std::string text = ToText(Some());
  const auto refused = [&](std::string_view from, std::string_view to) {
    EXPECT_TRUE(absl::StrContains(text, Sv(from))) << from;
    const absl::Status status =
        ParseLearntControl(absl::StrReplaceAll(text, {{Sv(from), Sv(to)}})).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << from << " -> " << to << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "is not sound")) << status;
  };
  refused("control 1", "control 2");
  refused("control 1\n", "control 1\n\n");
  refused("1767225600000000000 ", "-1 ");
  refused("1767225600000000000 ", "9223372036854775808 ");
  refused("\n2\n", "\n3\n");
  refused("\n2\n", "\n2 1\n");
  refused("\n2\n", "\n2 \n");
  refused("1234.5678901234567", "nan");
  refused("1234.5678901234567", "inf");
  refused("1234.5678901234567", "1e13");
  refused("1234.5678901234567", "-1");
  refused("1234.5678901234567", "+1234.5678901234567");
  refused("1234.5678901234567", "01234.5678901234567");
  refused("1234.5678901234567", "0x1p3");
  refused("1234.5678901234567", "");
  refused("1234.5678901234567", "1234.5678901234567 1");
  refused(" 100 ", " 100 1 ");   // a share too many
  refused("\n1 ", "\n2 ");       // neither measured nor not
  refused("\n0 ", "\n0 0\n0 ");  // a line too many
  EXPECT_FALSE(ParseLearntControl("").ok());
  EXPECT_FALSE(ParseLearntControl(std::string_view()).ok());
  EXPECT_FALSE(ParseLearntControl(text + "\n").ok());
  EXPECT_FALSE(ParseLearntControl(std::string(1 << 20, '\n')).ok());
  for (size_t size = 0; size < text.size(); ++size) {
    ASSERT_FALSE(ParseLearntControl(text.substr(0, size)).ok()) << size;
  }
}

TEST(LearntControl, SharesComeToOne) {
  LearntControl learnt = Some();
  learnt.indicators[3].limits.fill(0);
  EXPECT_FALSE(ParseLearntControl(ToText(learnt)).ok());
  learnt.indicators[3].limits[7] = 0.999;
  EXPECT_FALSE(ParseLearntControl(ToText(learnt)).ok());
  learnt.indicators[3].limits[8] = 0.001;
  EXPECT_TRUE(ParseLearntControl(ToText(learnt)).ok());
}

// It would be believed for ever: the variance of a stretch is pooled with a multiple of it at most.
TEST(LearntControl, ANoiseNextToNothingIsRefused) {
  for (const double noise : {0.0, 1e-300, 0.9e-6, 1001.0}) {
    LearntControl learnt = Some();
    learnt.indicators[3].noise = noise;
    EXPECT_FALSE(ParseLearntControl(ToText(learnt)).ok()) << noise;
  }
  for (const double noise : {1e-6, 1000.0}) {
    LearntControl learnt = Some();
    learnt.indicators[3].noise = noise;
    EXPECT_TRUE(ParseLearntControl(ToText(learnt)).ok()) << noise;
  }
}

// Databases of all speeds, from one that is as good as dead to what none can be; steady, or out of
// their minds.
TEST(LearntControl, WhateverLimitsLearntIsRead) {
  std::mt19937_64 random(1);
  const auto anything = [&](double most) {
    return std::pow(10.0, std::uniform_real_distribution<>(-most, most)(random));
  };
  for (int database = 0; database < Scaled(200); ++database) {
    WorkLimits limits(ControlOptions{});
    const double speed = anything(20), wildness = anything(6);
    const bool is_steady = database % 4 == 0;
    for (int stretch = 0; stretch < 40; ++stretch) {
      EffectEstimate estimate;
      for (int i = 0; i < 12; ++i) {
        const auto some = [&] { return speed * (is_steady ? 1 : 1 + wildness * anything(2)); };
        estimate.Add({.at = 0.2 * i,
                      .seconds = 0.2,
                      .throughput = some(),
                      .sessions = some(),
                      .mean = some(),
                      .deviation = some(),
                      .residence = some(),
                      .in_flight = i % 4 < 2 ? 0.0 : 0.5});
      }
      limits.Learn(estimate, WorkLimits::Source::kFlows, 0.1);
      limits.Learn(estimate, WorkLimits::Source::kGlances, 0.1);
      limits.Age(1, 0.1);
      LearntControl learnt;
      learnt.indicators = limits.Learnt();
      const absl::StatusOr<LearntControl> read = ParseLearntControl(ToText(learnt));
      ASSERT_TRUE(read.ok()) << read.status() << " at " << speed << ", " << wildness;
    }
  }
}

TEST(LearntControl, WhatWasNotSeenForEverIsReadASecondLater) {
  LearntControl learnt = Some();
  for (LearntIndicator& indicator : learnt.indicators)
    indicator.unseen_for = LearntIndicator::kMostUnseen;
  ASSERT_TRUE(ParseLearntControl(ToText(learnt)).ok());
  WorkLimits limits(learnt.options);
  limits.Restore(learnt.indicators);
  limits.Age(1, 0.1);
  learnt.indicators = limits.Learnt();
  EXPECT_TRUE(ParseLearntControl(ToText(learnt)).ok());
}

// Bytes that were changed, lost or doubled: what is taken all the same is one that limits go on
// from with a rate within their bounds, and that is written as it was read.
TEST(LearntControl, WhateverIsTakenIsSound) {
  const std::string text = ToText(Some());
  std::mt19937_64 random(1);
  int taken = 0;
  for (int i = 0; i < Scaled(100'000); ++i) {
    std::string spoilt = text;
    for (uint64_t spoils = 1 + random() % 3; spoils > 0; --spoils) {
      const size_t at = random() % spoilt.size();
      constexpr std::string_view kLikely = "0123456789 \n.-+einfax";
      const char byte = kLikely[random() % kLikely.size()];
      switch (random() % 4) {
        case 0:
          spoilt.erase(at, 1 + random() % 8);
          break;
        case 1:
          spoilt.insert(at, 1, byte);
          break;
        default:
          spoilt[at] = byte;
      }
    }
    const absl::StatusOr<LearntControl> read = ParseLearntControl(spoilt);
    if (!read.ok()) continue;
    ++taken;
    ASSERT_EQ(ToText(*read), spoilt);
    WorkLimits limits(ControlOptions{.cores = 4, .max_rate = 8});
    limits.Restore(read->indicators);
    limits.Age(5, 0.16);
    ASSERT_GT(limits.CarefulLimit(), 0.004);
    ASSERT_LT(limits.CarefulLimit(), 36);
    ASSERT_TRUE(std::isfinite(limits.View(Harm::kTail, 1).uncertainty));
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace headgate::control
