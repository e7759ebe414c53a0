#include "server/control/control_words.h"

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

ControlSetting Working() {
  ControlSetting setting;
  setting.phase = ControlPhase::kWork;
  setting.foreground = Foreground::kBusy;
  setting.binding = Harm::kLatency;
  setting.harms[0] = {.expected = 0.021, .uncertainty = 0.006, .tolerance = 0.05, .known = true};
  setting.harms[1] = {.expected = 0.08, .uncertainty = 0.02, .tolerance = 0.1, .known = true};
  setting.harms[2] = {.tolerance = 0.25};
  return setting;
}

TEST(ControlWords, SayWhatBindsAndByHowMuch) {
  EXPECT_EQ(
      Explain(Working(), "", ""),
      "latency binds: it makes its statements 8.0 ± 2.0 % longer on average, of 10 % that are "
      "tolerated");
}

TEST(ControlWords, SayWhatCannotBeSeen) {
  const std::string text = Explain(Working(), "it is not installed", "");
  EXPECT_NE(text.find("are not seen: it is not installed"), std::string::npos) << text;
  EXPECT_NE(Explain(Working(), "", "it is full").find("; it is full"), std::string::npos);
}

TEST(ControlWords, SayThatNobodyWaits) {
  ControlSetting setting = Working();
  setting.held_back = false;
  EXPECT_EQ(Explain(setting, "", "").find("nobody waits for more"), 0U);
}

TEST(ControlWords, EffectsAreThoseOnAForeground) {
  EXPECT_TRUE(EffectsOf({}).empty());
  const auto effects = EffectsOf(Working());
  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(effects[0].kind, "throughput");
  EXPECT_FALSE(effects[0].binds);
  EXPECT_TRUE(effects[1].binds);
  EXPECT_FALSE(effects[2].known);
}

TEST(ControlWords, EachPhaseHasAReason) {
  for (const auto phase : {ControlPhase::kRest, ControlPhase::kIdle, ControlPhase::kBlind}) {
    ControlSetting setting;
    setting.phase = phase;
    EXPECT_FALSE(Explain(setting, "", "").empty()) << NameOf(phase);
  }
}

}  // namespace
}  // namespace headgate::control
