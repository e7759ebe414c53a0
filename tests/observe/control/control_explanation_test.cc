#include "server/observe/control/control_explanation.h"

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

ControlSetting Working() {
  ControlSetting setting;
  setting.phase = ControlPhase::kWork;
  setting.foreground = Foreground::kBusy;
  setting.binding = Harm::kLatency;
  setting.at_limit = true;
  setting.harms[0] = {.expected = 0.021, .uncertainty = 0.006, .tolerance = 0.05, .known = true};
  setting.harms[1] = {.expected = 0.08, .uncertainty = 0.02, .tolerance = 0.1, .known = true};
  setting.harms[2] = {.tolerance = 0.25};
  return setting;
}

TEST(ControlExplanation, SaysWhatBindsAndByHowMuch) {
  EXPECT_EQ(
      Explain(Working(), "", ""),
      "latency binds: it makes its statements 8.0 ± 2.0 % longer on average, of 10 % that are "
      "tolerated");
}

TEST(ControlExplanation, SaysWhatCannotBeSeen) {
  const std::string text = Explain(Working(), "it is not installed", "");
  EXPECT_NE(text.find("are not seen: it is not installed"), std::string::npos) << text;
  EXPECT_NE(Explain(Working(), "", "it is full").find("; it is full"), std::string::npos);
}

TEST(ControlExplanation, SaysThatALimitIsNotReached) {
  ControlSetting setting = Working();
  setting.at_limit = false;
  EXPECT_EQ(Explain(setting, "", "").find("it is raised step by step; latency is the nearest"), 0U);
  setting.at_most = true;
  EXPECT_EQ(Explain(setting, "", "").find("max_rate is the limit; latency is the nearest"), 0U);
  setting.held_back = false;
  EXPECT_EQ(Explain(setting, "", "").find("less is used than it allows; latency is the near"), 0U);
}

TEST(ControlExplanation, SaysThatSessionsYield) {
  ControlSetting setting = Working();
  setting.yields = true;
  EXPECT_EQ(Explain(setting, "", "")
                .find("sessions yield the processor, and it is how many of them run at once; "
                      "latency binds: "),
            0U);
  setting.foreground = Foreground::kSparse;
  EXPECT_NE(Explain(setting, "", "").find("and they yield to it"), std::string::npos);
  setting.phase = ControlPhase::kIdle;
  EXPECT_EQ(Explain(setting, "", "").find("there is no foreground"), 0U);
}

TEST(ControlExplanation, SaysWhatJobsDoWrong) {
  const auto says = [](void (*make)(ControlSetting&), const char* what) {
    ControlSetting setting = Working();
    make(setting);
    const std::string text = Explain(setting, "", "");
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  says([](ControlSetting& setting) { setting.long_chunk = 3; }, "; chunks take 3.0 s each");
  says([](ControlSetting& setting) { setting.understated = true; }, "; Reports say far less");
  says([](ControlSetting& setting) { setting.misses_batch = true; }, "; no session of batch_work");
}

TEST(ControlExplanation, SaysWhatHealthDoes) {
  EXPECT_EQ(ExplainSpeed("standard", 0), "health profile 'standard' lets nothing through; ");
  EXPECT_EQ(ExplainSpeed("standard", 0.4), "health profile 'standard' slows it to 40 %; ");
  EXPECT_EQ(ExplainSpeed("standard", 1), "");
}

TEST(ControlExplanation, EffectsAreThoseOnAForeground) {
  EXPECT_TRUE(EffectsOf({}).empty());
  const auto effects = EffectsOf(Working());
  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(effects[0].kind, "throughput");
  EXPECT_FALSE(effects[0].binds);
  EXPECT_TRUE(effects[1].binds);
  EXPECT_FALSE(effects[2].known);
}

TEST(ControlExplanation, EachPhaseHasAReason) {
  for (const auto phase : {ControlPhase::kRest, ControlPhase::kIdle, ControlPhase::kBlind}) {
    ControlSetting setting;
    setting.phase = phase;
    EXPECT_FALSE(Explain(setting, "", "").empty()) << NameOf(phase);
  }
}

}  // namespace
}  // namespace headgate::control
