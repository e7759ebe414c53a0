#include "server/observe/agents/agent_registry.h"

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::agents {
namespace {

using Kind = AgentEvent::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

// Sessions that yield: so many.
AgentState Yielding(int64_t sessions) {
  return {.yielding = {.works = true, .means = "SCHED_IDLE", .sessions = sessions}};
}

AgentState Refused() { return {.yielding = {.works = false, .means = "no right to do it"}}; }

class AgentRegistryTest : public testing::Test {
 protected:
  absl::Status Tell(AgentRegistry::Stream stream, const AgentState& state,
                    const char* target = "orders") {
    const std::string peer = absl::StrCat("ipv4:10.0.0.", stream, ":99");
    return registry_.Tell(stream, {.target = target, .peer = peer}, state, clock_.Read());
  }
  void Wait(int ms) { clock_.Advance(absl::Milliseconds(ms)); }
  bool IsHere() {
    const std::vector<AgentView> views = registry_.Views(clock_.Read());
    return !views.empty() && views[0].is_here;
  }

  FakeClock clock_;
  std::vector<std::string> yields_;  // "orders 3"
  std::vector<std::string> events_;
  AgentRegistry registry_{
      {.on_yielding =
           [this](const std::string& target, const control::Yielding& yielding, Now now) {
             EXPECT_EQ(now.monotonic_ns, clock_.Read().monotonic_ns);
             yields_.push_back(absl::StrCat(
                 target, " ", yielding.works ? absl::StrCat(yielding.sessions) : "nothing"));
           },
       .on_event =
           [this](const AgentEvent& event) {
             const char* const kinds[] = {"came", "gone", "yields", "yields not"};
             events_.push_back(absl::StrCat(kinds[static_cast<size_t>(event.kind)], " ",
                                            event.target, " ", event.peer, " ",
                                            std::string(event.why)));
           }}};
};

TEST_F(AgentRegistryTest, WhatIsToldIsGivenToListeners) {
  const AgentRegistry::Stream stream = registry_.Open();
  EXPECT_TRUE(Tell(stream, Yielding(2)).ok());
  EXPECT_TRUE(Tell(stream, Yielding(3)).ok());
  EXPECT_THAT(yields_, ElementsAre("orders 2", "orders 3"));
  EXPECT_THAT(events_, ElementsAre("came orders ipv4:10.0.0.1:99 "));
}

TEST_F(AgentRegistryTest, WhatWasToldIsBelievedForOneAndAHalfSeconds) {
  const AgentRegistry::Stream stream = registry_.Open();
  EXPECT_TRUE(Tell(stream, Yielding(2)).ok());
  Wait(1499);
  EXPECT_EQ(registry_.Expire(clock_.Read()), clock_.Read().monotonic_ns + 1'000'000);
  EXPECT_TRUE(IsHere());
  Wait(1);
  EXPECT_FALSE(IsHere());
  EXPECT_EQ(registry_.Expire(clock_.Read()), AgentRegistry::kNever);
  EXPECT_THAT(yields_, ElementsAre("orders 2", "orders nothing"));
  EXPECT_THAT(events_.back(), HasSubstr("it has said nothing for 1.5 s"));
}

TEST_F(AgentRegistryTest, EachWordProlongsIt) {
  const AgentRegistry::Stream stream = registry_.Open();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(Tell(stream, Yielding(2)).ok());
    Wait(1000);
    registry_.Expire(clock_.Read());
  }
  EXPECT_TRUE(IsHere());
  EXPECT_THAT(events_, ElementsAre("came orders ipv4:10.0.0.1:99 "));
}

TEST_F(AgentRegistryTest, TheEndOfAStreamEndsItAtOnce) {
  const AgentRegistry::Stream stream = registry_.Open();
  EXPECT_TRUE(Tell(stream, Yielding(2)).ok());
  registry_.End(stream, clock_.Read());
  EXPECT_FALSE(IsHere());
  registry_.End(stream, clock_.Read());
  EXPECT_THAT(yields_, ElementsAre("orders 2", "orders nothing"));
  EXPECT_THAT(events_, ElementsAre("came orders ipv4:10.0.0.1:99 ",
                                   "gone orders ipv4:10.0.0.1:99 its stream has ended"));
}

TEST_F(AgentRegistryTest, ASecondAgentIsRefusedAndChangesNothing) {
  const AgentRegistry::Stream first = registry_.Open();
  const AgentRegistry::Stream second = registry_.Open();
  EXPECT_TRUE(Tell(first, Yielding(2)).ok());
  Wait(1499);
  const absl::Status refused = Tell(second, Yielding(7));
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(refused.message(),
              HasSubstr("an agent at ipv4:10.0.0.1:99 tells of target 'orders'"));
  registry_.End(second, clock_.Read());
  EXPECT_THAT(yields_, ElementsAre("orders 2"));
  EXPECT_TRUE(IsHere());
}

TEST_F(AgentRegistryTest, ASecondAgentIsTakenOnceTheFirstOnesLeaseHasEnded) {
  const AgentRegistry::Stream first = registry_.Open();
  const AgentRegistry::Stream second = registry_.Open();
  EXPECT_TRUE(Tell(first, Yielding(2)).ok());
  Wait(1500);
  EXPECT_TRUE(Tell(second, Yielding(7)).ok());
  EXPECT_EQ(Tell(first, Yielding(2)).code(), absl::StatusCode::kAlreadyExists);
  registry_.End(first, clock_.Read());
  EXPECT_TRUE(IsHere());
  EXPECT_THAT(yields_, ElementsAre("orders 2", "orders nothing", "orders 7"));
  EXPECT_THAT(events_, ElementsAre("came orders ipv4:10.0.0.1:99 ",
                                   "gone orders ipv4:10.0.0.1:99 it has said nothing for 1.5 s",
                                   "came orders ipv4:10.0.0.2:99 "));
}

TEST_F(AgentRegistryTest, AnotherStreamOfTheSameAgentTakesThePlaceOfItsFirst) {
  const auto tell = [&](AgentRegistry::Stream stream, const char* agent, int64_t sessions) {
    return registry_.Tell(stream, {.target = "orders", .peer = "p", .agent = agent},
                          Yielding(sessions), clock_.Read());
  };
  const AgentRegistry::Stream first = registry_.Open();
  const AgentRegistry::Stream second = registry_.Open();
  const AgentRegistry::Stream other = registry_.Open();
  EXPECT_TRUE(tell(first, "a", 2).ok());
  EXPECT_EQ(tell(other, "b", 9).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(tell(other, "", 9).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(tell(second, "a", 3).ok());
  registry_.End(first, clock_.Read());
  EXPECT_TRUE(IsHere());
  EXPECT_THAT(yields_, ElementsAre("orders 2", "orders 3"));
  EXPECT_THAT(events_, ElementsAre("came orders p "));
  registry_.End(second, clock_.Read());
  EXPECT_FALSE(IsHere());
}

TEST_F(AgentRegistryTest, AStreamIsAboutOneTarget) {
  const AgentRegistry::Stream stream = registry_.Open();
  EXPECT_TRUE(Tell(stream, Yielding(2)).ok());
  EXPECT_EQ(Tell(stream, Yielding(2), "billing").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(registry_.Views(clock_.Read()).size(), 1U);
}

TEST_F(AgentRegistryTest, TargetsHaveAgentsOfTheirOwn) {
  const AgentRegistry::Stream orders = registry_.Open();
  const AgentRegistry::Stream billing = registry_.Open();
  EXPECT_TRUE(Tell(orders, Yielding(2)).ok());
  EXPECT_TRUE(Tell(billing, Yielding(5), "billing").ok());
  registry_.End(orders, clock_.Read());
  const std::vector<AgentView> views = registry_.Views(clock_.Read());
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].target, "billing");
  EXPECT_TRUE(views[0].is_here);
  EXPECT_FALSE(views[1].is_here);
  EXPECT_EQ(views[1].state.yielding.sessions, 2);
}

TEST_F(AgentRegistryTest, ThatYieldingBeginsOrCeasesToWorkIsSaidOnce) {
  const AgentRegistry::Stream stream = registry_.Open();
  for (const AgentState& state : {Refused(), Refused(), Yielding(1), Yielding(2), Refused()}) {
    EXPECT_TRUE(Tell(stream, state).ok());
  }
  EXPECT_THAT(events_,
              ElementsAre("came orders ipv4:10.0.0.1:99 ", "yields orders ipv4:10.0.0.1:99 ",
                          "yields not orders ipv4:10.0.0.1:99 "));
  EXPECT_THAT(yields_, ElementsAre("orders nothing", "orders nothing", "orders 1", "orders 2",
                                   "orders nothing"));
}

TEST_F(AgentRegistryTest, ASteppedWallClockChangesNoLease) {
  const AgentRegistry::Stream stream = registry_.Open();
  EXPECT_TRUE(Tell(stream, Yielding(2)).ok());
  clock_.AdvanceWall(absl::Hours(3));
  registry_.Expire(clock_.Read());
  EXPECT_TRUE(IsHere());
}

}  // namespace
}  // namespace headgate::agents
