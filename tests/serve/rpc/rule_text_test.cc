// How rules of the configuration are told.

#include "server/serve/rpc/rule_text.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headgate::rpc {
namespace {

TEST(RuleText, TellsEachConditionThatHasToHold) {
  EXPECT_EQ(MatchText({}), "");
  engine::MatchSpec match;
  match.identity = "copy:etl";
  match.segment = "vcopier";
  match.tags = {{"team", "a"}, {"tier", "b"}};
  match.remote_address = "10.0.0.0/8";
  match.target = "orders";
  EXPECT_EQ(
      MatchText(match),
      "copy:etl and what is below it; with the segment vcopier; tag team is a; tag tier is b; "
      "from 10.0.0.0/8; on target orders");
}

std::string TextOf(std::vector<engine::ScheduleWindow> windows, const std::string& time_zone) {
  engine::MatchSpec match;
  match.schedule = {.windows = std::move(windows), .time_zone = time_zone};
  return MatchText(match);
}

TEST(RuleText, TellsSchedulesByDaysAndHours) {
  const auto text = [](uint8_t days) {
    return TextOf({{.days = days, .start_minute = 1320, .end_minute = 365}}, "Europe/Berlin");
  };
  EXPECT_EQ(text(0b1111111), "22:00 to 06:05 Europe/Berlin");
  EXPECT_EQ(text(0b0011111), "mon to fri 22:00 to 06:05 Europe/Berlin");
  EXPECT_EQ(text(0b1100000), "sat, sun 22:00 to 06:05 Europe/Berlin");
  EXPECT_EQ(text(0b1010111), "mon to wed, fri, sun 22:00 to 06:05 Europe/Berlin");
  EXPECT_EQ(TextOf({{.days = 127, .start_minute = 0, .end_minute = 60},
                    {.days = 1, .start_minute = 90, .end_minute = 1440}},
                   ""),
            "00:00 to 01:00, mon 01:30 to 24:00 UTC");
}

TEST(RuleText, TellsWhatARuleDoes) {
  EXPECT_EQ(ActionText(engine::ChargeAction{{"rows", "per-job"}}), "charges rows, per-job");
  EXPECT_EQ(ActionText(engine::ExemptAction{}), "exempts");
  EXPECT_EQ(ActionText(engine::DenyAction{}), "denies");
  EXPECT_EQ(ActionText(engine::RejectAction{0.25}), "rejects 25 % by chance");
  EXPECT_EQ(ActionText(engine::RejectAction{0.999999}), "rejects 99.9999 % by chance");
  EXPECT_EQ(ActionText(engine::RejectAction{0.99999999}), "rejects 99.999999 % by chance");
  EXPECT_EQ(ActionText(engine::HealthAction{"strict"}), "gates by health profile strict");
  EXPECT_EQ(ActionText(engine::PriorityAction{-3}), "sets priority -3");
  EXPECT_EQ(ActionText(engine::WeightAction{2.5}), "weighs 2.5");
}

}  // namespace
}  // namespace headgate::rpc
