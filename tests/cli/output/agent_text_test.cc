#include "client/cli/output/agent_text.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

v1::TargetStatus WithAgent(int64_t yielding, int named) {
  v1::TargetStatus target;
  v1::AgentState& state = *target.mutable_agent()->mutable_state();
  state.set_yields(true);
  state.set_means("a cgroup with cpu.idle");
  state.set_yielding(yielding);
  state.set_processor_seconds(812);
  state.set_raises(7);
  for (int i = 0; i < named; ++i) {
    v1::AgentSession& session = *state.add_yielding_sessions();
    session.set_pid(4711 + i);
    session.set_application_name(absl::StrCat("backfill-", i));
    session.set_role("etl");
  }
  return target;
}

std::string Text(const v1::TargetStatus& target) { return AgentText(target, Colours::kOff, "  "); }

TEST(AgentText, IsNothingWithoutAnAgent) { EXPECT_EQ(Text(v1::TargetStatus()), ""); }

TEST(AgentText, SaysWhoYieldsByWhichMeansAndWhatCameOfIt) {
  EXPECT_EQ(Text(WithAgent(2, 2)),
            "  2 sessions yield the processor (a cgroup with cpu.idle): pid 4711 backfill-0 (role "
            "etl), pid 4712 backfill-1 (role etl)\n"
            "  yielding they have had 812 s of processor time; raised 7 times\n");
}

TEST(AgentText, NamesFourAndCountsTheRest) {
  EXPECT_EQ(Text(WithAgent(500, 16)),
            "  500 sessions yield the processor (a cgroup with cpu.idle): pid 4711 backfill-0 "
            "(role etl), pid 4712 backfill-1 (role etl), pid 4713 backfill-2 (role etl), pid 4714 "
            "backfill-3 (role etl) and 496 more\n"
            "  yielding they have had 812 s of processor time; raised 7 times\n");
}

TEST(AgentText, SaysWhatBoundsThem) {
  v1::TargetStatus target = WithAgent(1, 0);
  v1::WorkSeconds& work = *target.mutable_agent()->mutable_state()->mutable_recent_work();
  work.set_processor(1.5);
  work.set_disk(8);
  work.set_locks(0.5);
  work.set_other(0.01);
  EXPECT_EQ(Text(target),
            "  1 session yields the processor (a cgroup with cpu.idle)\n"
            "  of late at work: 80 % disk, 15 % processor, 5 % locks\n"
            "  yielding they have had 812 s of processor time; raised 7 times\n");
}

TEST(AgentText, SaysWhoWasRaisedAndForWhom) {
  v1::TargetStatus target = WithAgent(0, 0);
  v1::AgentState& state = *target.mutable_agent()->mutable_state();
  state.set_raised(3);
  v1::RaisedSession& raised = *state.add_raised_sessions();
  raised.mutable_session()->set_pid(4713);
  raised.mutable_waiter()->set_pid(99);
  raised.mutable_waiter()->set_application_name("orders-api");
  state.add_raised_sessions()->mutable_session()->set_pid(4714);
  EXPECT_EQ(Text(target),
            "  no session yields the processor now (a cgroup with cpu.idle)\n"
            "  raised: pid 4713, for pid 99 orders-api\n"
            "  raised: pid 4714, as it got next to no processor\n"
            "  raised: 1 more\n"
            "  yielding they have had 812 s of processor time; raised 7 times\n");
}

TEST(AgentText, SaysWhyBatchWorkDoesNotYield) {
  v1::TargetStatus target;
  target.mutable_agent()->mutable_state()->set_means("CAP_SYS_NICE is missing");
  EXPECT_EQ(Text(target), "  batch work does not yield: CAP_SYS_NICE is missing\n");
}

TEST(AgentText, EscapesWhatComesFromSessions) {
  v1::TargetStatus target = WithAgent(1, 1);
  target.mutable_agent()->mutable_state()->mutable_yielding_sessions(0)->set_application_name(
      "a\x1b[2J");
  EXPECT_EQ(Text(target).substr(0, 83),
            "  1 session yields the processor (a cgroup with cpu.idle): pid 4711 a\\x1b[2J (role ");
}

}  // namespace
}  // namespace headgate::cli
