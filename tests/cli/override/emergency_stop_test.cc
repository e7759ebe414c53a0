// pause, throttle and resume --everything: the emergency stop as an operator meets it.

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/override/operator_commands.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

engine::PolicySpec TwoTargets() {
  return engine::OnTwoTargets(engine::OneBudget(engine::RateBudget("rows", 10, 100)), "main",
                              "other", "nightly vacuum", "vacuum");
}

class EmergencyStop : public OperatorCommands {
 protected:
  EmergencyStop() : OperatorCommands(TwoTargets(), "ann") {}

  std::string Stop(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"pause", "--everything", "--for",
                                      "1h",    "--reason",     "disk full"};
    words.insert(words.end(), more.begin(), more.end());
    return Out(std::move(words));
  }
};

TEST_F(EmergencyStop, IsOneCommandThatSaysWhatItDoesNotStopAndHowItIsEnded) {
  EXPECT_EQ(Stop(),
            "override 1: paused everything until 2026-01-01 01:00:00 UTC\n"
            "not stopped: what was let in before, until it asks again; whom 1 rule exempts: "
            "nightly vacuum\n"
            "to end it: headgate resume --everything --reason 'what has changed'\n");
  EXPECT_FALSE(Admits("etl", "main"));
  EXPECT_FALSE(Admits("a:b", "other"));
  EXPECT_TRUE(Admits("vacuum", "main"));
}

TEST_F(EmergencyStop, NamesExemptOverridesToo) {
  Out({"exempt", "restore", "--for", "1h", "--reason", "restore"});
  EXPECT_THAT(Stop(), HasSubstr("whom 2 rules exempt: nightly vacuum; override 1: exempted by ann "
                                "(restore)\n"));
}

TEST_F(EmergencyStop, OnOneTargetLeavesTheOtherAloneAndIsEndedThere) {
  EXPECT_THAT(Stop({"--target", "other"}),
              AllOf(StartsWith("override 1: paused everything on other until"),
                    HasSubstr("; no rule exempts anybody\n"),
                    EndsWith("resume --everything --target other --reason 'what has changed'\n")));
  EXPECT_FALSE(Admits("etl", "other"));
  EXPECT_TRUE(Admits("etl", "main"));
  EXPECT_EQ(Refusal({"resume", "--everything", "--reason", "over"}),
            "headgate: no override is on exactly everything, but it is held by override 1 on "
            "everything on other (paused by ann: disk full); add --target other to end that\n");
  EXPECT_EQ(Out({"resume", "--everything", "--target", "other", "--reason", "over"}),
            "ended override 1 on everything on other (paused by ann: disk full)\n");
  EXPECT_TRUE(Admits("etl", "other"));
}

TEST_F(EmergencyStop, WhatStaysStoppedIsSaidWhereAnotherStopEnds) {
  Stop();
  Stop({"--target", "main"});
  EXPECT_EQ(Out({"resume", "--everything", "--reason", "over"}),
            "ended override 1 on everything (paused by ann: disk full)\n"
            "still in force: override 2 on everything on main (paused by ann: disk full)\n");
}

TEST_F(EmergencyStop, ResumeEndsPauseAndThrottleOfEverythingAndNothingElse) {
  Stop();
  Out({"throttle", "--everything", "--ratio", "0.9", "--for", "1h", "--reason", "gently"});
  Out({"pause", "etl", "--for", "1h", "--reason", "another matter"});
  EXPECT_EQ(Out({"resume", "--everything", "--reason", "over"}),
            "ended override 2 on everything (throttled by 90 % by ann: gently)\n"
            "ended override 1 on everything (paused by ann: disk full)\n");
  EXPECT_TRUE(Admits("job", "main"));
  EXPECT_FALSE(Admits("etl", "main"));
  EXPECT_THAT(Refusal({"resume", "--everything", "--reason", "over"}),
              StartsWith("headgate: no override pauses or throttles everything;"));
}

TEST_F(EmergencyStop, OneJobIsResumedUnderItAndWhatWasResumedBeforeIsStopped) {
  Out({"resume", "old", "--for", "1h", "--reason", "needed"});
  Stop();
  EXPECT_FALSE(Admits("old", "main"));
  EXPECT_EQ(Refusal({"resume", "etl", "--reason", "over"}),
            "headgate: no override is on exactly etl, but it is held by override 2 on everything "
            "(paused by ann: disk full); to make an exception, add --for DURATION\n");
  Out({"resume", "etl", "--for", "1h", "--reason", "first one back"});
  EXPECT_TRUE(Admits("job:etl", "main"));
  EXPECT_FALSE(Admits("job", "main"));
}

TEST_F(EmergencyStop, WhoIsDeniedIsToldAndSoIsWhoAsksWhy) {
  Out({"resume", "etl", "--for", "1h", "--reason", "needed"});
  Stop({"--target", "main"});
  const Finished denied = Run({"check", "etl", "--cost", "0", "--target", "main"});
  EXPECT_THAT(denied.out,
              AllOf(HasSubstr("everything on main paused by ann (disk full)"), HasSubstr("1h")));
  const std::string explained = Run({"explain", "etl", "--target", "main"}).out;
  EXPECT_THAT(explained, AllOf(HasSubstr("headgate resume --everything ends it"),
                               HasSubstr("only by a resume that is made after it")));
}

TEST_F(EmergencyStop, IsNeverMeantByAccident) {
  const auto refusal = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--for", "1h", "--reason", "r"});
    return Refusal(std::move(words));
  };
  EXPECT_THAT(refusal({"pause", "etl", "--everything"}),
              HasSubstr("takes only one of an identity, --segment SEGMENT, or --everything"));
  EXPECT_THAT(refusal({"pause", "--segment", "x", "--everything"}), HasSubstr("takes only one of"));
  EXPECT_THAT(refusal({"pause"}),
              HasSubstr("takes an identity, --segment SEGMENT, or --everything"));
  EXPECT_THAT(refusal({"pause", ""}), HasSubstr("takes an identity"));
  EXPECT_THAT(refusal({"pause", "*"}), HasSubstr("identity has the byte '*'"));
  EXPECT_THAT(refusal({"exempt", "--everything"}), HasSubstr("exempt: takes no --everything"));
  EXPECT_THAT(Refusal({"pause", "--everything", "--reason", "r"}), HasSubstr("needs --for"));
  EXPECT_THAT(Refusal({"pause", "--everything", "--for", "1h"}), HasSubstr("needs --reason"));
  EXPECT_EQ(Out({"overrides"}), "no override is in force\n");
}

TEST_F(EmergencyStop, IsInTheListsAndTheStory) {
  Stop();
  EXPECT_THAT(Out({"overrides"}), HasSubstr("1  PAUSE  everything  2026-01-01 01:00:00  ann"));
  EXPECT_THAT(Out({"overrides", "-o", "csv"}), HasSubstr("1,PAUSE,,,,,ann,disk full,"));
  EXPECT_THAT(Out({"overrides", "-o", "csv"}), EndsWith(",true\r\n"));
  EXPECT_THAT(Out({"overrides", "--events"}), HasSubstr("CREATED   1  PAUSE  everything  ann"));
  EXPECT_THAT(Out({"overrides", "-o", "json"}), HasSubstr("\"everything\": true"));
}

TEST_F(EmergencyStop, IsTheFirstThingThatStatusAndTopShow) {
  EXPECT_THAT(Out({"status"}), Not(HasSubstr("EVERYTHING")));
  const absl::Time end =
      absl::FromCivil(absl::CivilSecond(2026, 1, 1, 1, 0, 0), absl::UTCTimeZone());
  server_.status.overrides =
      overrides::OverridesSnapshot{.is_kept = true,
                                   .in_force = 2,
                                   .stops = {{.id = 8,
                                              .kind = overrides::Kind::kThrottle,
                                              .selector = {.everything = true, .target = "main"},
                                              .ratio = 0.9,
                                              .actor = "bob",
                                              .reason = "slow"},
                                             {.id = 7,
                                              .kind = overrides::Kind::kPause,
                                              .selector = {.everything = true},
                                              .actor = "ann",
                                              .reason = "disk full",
                                              .expires_at = end}}};
  const std::string all =
      "EVERYTHING on main IS THROTTLED by 90 % until it is ended by bob: slow (override 8)\n"
      "EVERYTHING IS PAUSED until 2026-01-01 01:00:00 by ann: disk full (override 7)\n"
      "configuration";
  EXPECT_THAT(Out({"status"}), HasSubstr(all));
  EXPECT_THAT(Out({"top", "--once"}), HasSubstr(all));
  EXPECT_THAT(Out({"status", "-o", "csv"}), HasSubstr("stop,,7,paused,,,,,ann: disk full"));
}

}  // namespace
}  // namespace headgate::cli
