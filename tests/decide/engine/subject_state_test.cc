// What makes leases that were granted before ones to give back, and what does not.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// The answer to one who watches.
CheckAnswer Watch(TestEngine& engine, std::string_view identity = "job:etl", Now now = At()) {
  const LeaseTerms terms{.watched = 0};
  return engine.Check({.identity = identity, .lease = &terms}, now);
}
uint64_t StateOf(TestEngine& engine, std::string_view identity = "job:etl", Now now = At()) {
  return Watch(engine, identity, now).grant.state;
}

PolicySpec Usual() { return OneBudget(RateBudget("b", 10, 100)); }

PolicySpec With(RuleSpec rule) {
  PolicySpec spec = Usual();
  spec.rules.push_back(std::move(rule));
  return spec;
}

// Whether the state of job:etl under the usual policy is another under this one.
bool DiffersUnder(PolicySpec spec) {
  TestEngine usual(Usual());
  TestEngine other(std::move(spec));
  return StateOf(usual) != StateOf(other);
}

TEST(SubjectState, IsTheSameForAllServersOfOneConfigurationAndAfterReloads) {
  EngineOptions options = TestEngine::Options();
  TestEngine engine(Usual(), options);
  options.seed = 8;
  TestEngine other(Usual(), options);
  const uint64_t state = StateOf(engine);
  EXPECT_NE(state, 0);
  EXPECT_EQ(StateOf(other), state);
  engine.Install(Usual());
  EXPECT_EQ(StateOf(engine), state);
}

TEST(SubjectState, OfALeaseIsThatInWhichItWasGranted) {
  TestEngine engine(Usual());
  const LeaseTerms terms{.least = 1, .life = absl::Seconds(1)};
  const CheckRequest request{.identity = "job:etl", .estimated_cost = 10, .lease = &terms};
  EXPECT_EQ(engine.Check(request).grant.state, StateOf(engine));
}

TEST(SubjectState, IsToldWithoutCharge) {
  TestEngine engine(Usual());
  const CheckAnswer answer = Watch(engine);
  EXPECT_EQ(answer.permit, 0);
  EXPECT_EQ(answer.grant.amount, 0);
  EXPECT_EQ(answer.retry_after, absl::InfiniteDuration());
  EXPECT_EQ(engine.Debt("job:etl", "b"), 0);
}

TEST(SubjectState, DiffersByARuleThatMatches) {
  EXPECT_TRUE(DiffersUnder(With(RuleOn("pause", "etl", DenyAction{}))));
  EXPECT_TRUE(DiffersUnder(With(RuleOn("let go", "job:etl", ExemptAction{}))));
  EXPECT_TRUE(DiffersUnder(With(RuleOn("throttle", "etl", RejectAction{.ratio = 0.5}))));
  EXPECT_TRUE(DiffersUnder(With(RuleOn("weigh", "etl", WeightAction{.weight = 2}))));
  EXPECT_TRUE(DiffersUnder(With(RuleOn("prefer", "etl", PriorityAction{.priority = 2}))));
}

TEST(SubjectState, DiffersByWhatAMatchingRuleDoes) {
  TestEngine half(With(RuleOn("throttle", "etl", RejectAction{.ratio = 0.5})));
  TestEngine more(With(RuleOn("throttle", "etl", RejectAction{.ratio = 0.6})));
  EXPECT_NE(StateOf(half), StateOf(more));
}

TEST(SubjectState, DoesNotDifferByWhatIsAboutOthers) {
  EXPECT_FALSE(DiffersUnder(With(RuleOn("pause", "other:etl", DenyAction{}))));
  EXPECT_FALSE(DiffersUnder(With(RuleOn("let go", "web", ExemptAction{}))));
  PolicySpec uncharged = Usual();
  uncharged.budgets.insert(uncharged.budgets.begin(), RateBudget("a", 1, 1));
  EXPECT_FALSE(DiffersUnder(std::move(uncharged)));
}

TEST(SubjectState, DoesNotDifferByRoomInABucket) {
  TestEngine engine(Usual());
  const uint64_t state = StateOf(engine);
  EXPECT_TRUE(engine.Admits("job:etl", 100));
  EXPECT_EQ(StateOf(engine), state);
}

TEST(SubjectState, DiffersByEachNumberOfABudgetThatIsCharged) {
  EXPECT_TRUE(DiffersUnder(OneBudget(RateBudget("b", 11, 100))));
  EXPECT_TRUE(DiffersUnder(OneBudget(RateBudget("b", 10, 101))));
  EXPECT_TRUE(DiffersUnder(OneBudget(RateBudget("b", 10, 0))));
  EXPECT_TRUE(DiffersUnder(OneBudget(RateBudget("c", 10, 100))));
  BudgetSpec changed = RateBudget("b", 10, 100);
  changed.max_cost = 50;
  EXPECT_TRUE(DiffersUnder(OneBudget(changed)));
  changed = RateBudget("b", 10, 100);
  changed.max_concurrency = 3;
  EXPECT_TRUE(DiffersUnder(OneBudget(changed)));
  changed = RateBudget("b", 10, 100);
  changed.mode = Mode::kWarn;
  EXPECT_TRUE(DiffersUnder(OneBudget(changed)));
  changed.mode = Mode::kDisabled;
  EXPECT_TRUE(DiffersUnder(OneBudget(changed)));
  changed = RateBudget("b", 10, 100);
  changed.split = SplitByDepth{1};
  EXPECT_TRUE(DiffersUnder(OneBudget(changed)));
}

class StateOfAGate : public ::testing::Test {
 protected:
  static PolicySpec Gated(Mode mode = Mode::kEnforce) {
    BudgetSpec budget = RateBudget("b", 10, 100);
    budget.health = "primary";
    budget.mode = mode;
    PolicySpec spec = OneBudget(std::move(budget));
    spec.profiles.push_back({.name = "primary", .signals = {"lag"}});
    return spec;
  }
  static void Set(TestEngine& engine, bool shut, double speed = 1) {
    const Health health{.speed = speed, .status = HealthStatus::kHealthy, .gate_shut = shut};
    EXPECT_TRUE(engine->SetHealth("", "primary", health, At()).ok());
  }
};

TEST_F(StateOfAGate, DiffersWhenItShutsAndIsAsBeforeWhenItOpens) {
  TestEngine engine(Gated());
  Set(engine, false);
  const uint64_t open = StateOf(engine);
  Set(engine, true);
  EXPECT_NE(StateOf(engine), open);
  Set(engine, false, 0.5);
  EXPECT_EQ(StateOf(engine), open);
}

TEST_F(StateOfAGate, DoesNotDifferWhereItRefusesNobody) {
  TestEngine warned(Gated(Mode::kWarn));
  Set(warned, false);
  const uint64_t open = StateOf(warned);
  Set(warned, true);
  EXPECT_EQ(StateOf(warned), open);
  PolicySpec spec = Gated();
  spec.rules.push_back(RuleOn("let go", "etl", ExemptAction{}));
  TestEngine exempt(std::move(spec));
  Set(exempt, false);
  const uint64_t passed = StateOf(exempt);
  Set(exempt, true);
  EXPECT_EQ(StateOf(exempt), passed);
}

TEST_F(StateOfAGate, CountsWhereARuleNamesIt) {
  PolicySpec spec = Usual();
  spec.profiles.push_back({.name = "primary", .signals = {"lag"}});
  spec.rules.push_back(RuleOn("gate", "etl", HealthAction{"primary"}));
  TestEngine engine(std::move(spec));
  Set(engine, false);
  const uint64_t open = StateOf(engine);
  Set(engine, true);
  EXPECT_NE(StateOf(engine), open);
}

class StateOfAnAutoBudget : public ::testing::Test {
 protected:
  StateOfAnAutoBudget() : engine_(Spec()) { Set(false, At(absl::Seconds(1)), At()); }

  static PolicySpec Spec() {
    BudgetSpec budget;
    budget.name = "b";
    budget.rate = AutoRate{};
    budget.burst = 1.0;
    return OneBudget(std::move(budget));
  }
  void Set(bool shut, Now next, Now now) {
    EXPECT_TRUE(engine_
                    ->SetAutoRate("", "b",
                                  {.rate = 1, .shut = shut, .next_change_at_ns = next.monotonic_ns},
                                  now)
                    .ok());
  }
  TestEngine engine_;
};

TEST_F(StateOfAnAutoBudget, StaysAsItIsInAPauseThatWasAnnounced) {
  const uint64_t state = StateOf(engine_);
  Set(true, At(absl::Milliseconds(1100)), At(absl::Seconds(1)));
  EXPECT_EQ(StateOf(engine_), state);
  Set(false, At(absl::Seconds(2)), At(absl::Milliseconds(1100)));
  EXPECT_EQ(StateOf(engine_), state);
  Set(true, At(absl::Milliseconds(2100)), At(absl::Microseconds(1'999'500)));
  EXPECT_EQ(StateOf(engine_), state);
}

TEST_F(StateOfAnAutoBudget, DiffersByAPauseThatBeginsEarly) {
  const uint64_t state = StateOf(engine_);
  Set(true, At(absl::Seconds(1)), At(absl::Milliseconds(500)));
  const uint64_t paused = StateOf(engine_);
  EXPECT_NE(paused, state);
  // Nothing was let go for longer meanwhile.
  Set(true, At(absl::Milliseconds(600)), At(absl::Milliseconds(550)));
  EXPECT_EQ(StateOf(engine_), paused);
}

TEST_F(StateOfAnAutoBudget, DiffersByAChangeThatIsAnnouncedForEarlier) {
  const uint64_t state = StateOf(engine_);
  Set(false, At(absl::Seconds(2)), At(absl::Milliseconds(100)));
  EXPECT_EQ(StateOf(engine_), state);
  Set(false, At(absl::Milliseconds(700)), At(absl::Milliseconds(200)));
  EXPECT_NE(StateOf(engine_), state);
}

TEST(SubjectState, ChangesWithTimeAndSaysWhen) {
  RuleSpec pause = RuleOn("pause", "etl", DenyAction{});
  pause.expires_at = absl::FromUnixNanos(At(absl::Seconds(90)).wall_ns);
  PolicySpec spec = With(pause);
  RuleSpec night = RuleOn("night", "etl", DenyAction{});
  night.match.schedule = ScheduleSpec{
      .windows = {{.days = 0b1111111, .start_minute = 2, .end_minute = 3}}, .time_zone = ""};
  spec.rules.push_back(night);
  TestEngine engine(std::move(spec));
  TestEngine usual(Usual());
  const CheckAnswer first = Watch(engine);
  EXPECT_EQ(first.retry_after, absl::Seconds(90));
  // Of any rule: it is looked at for all subjects at once.
  EXPECT_EQ(Watch(engine, "other").retry_after, absl::Seconds(90));
  const CheckAnswer between = Watch(engine, "job:etl", At(absl::Seconds(90)));
  EXPECT_EQ(between.grant.state, StateOf(usual));
  EXPECT_LE(between.retry_after, absl::Seconds(30));
  EXPECT_GT(between.retry_after, absl::ZeroDuration());
  EXPECT_NE(StateOf(engine, "job:etl", At(absl::Seconds(120))), between.grant.state);
  EXPECT_EQ(StateOf(engine, "job:etl", At(absl::Seconds(180))), between.grant.state);
  // A wall clock that is set back.
  EXPECT_EQ(Watch(engine).grant.state, first.grant.state);
  EXPECT_EQ(Watch(engine).retry_after, absl::Seconds(90));
}

TEST(SubjectState, OfABadRequestIsAnErrorThatNamesTheField) {
  TestEngine engine(Usual());
  const LeaseTerms terms{.watched = 1};
  EXPECT_THAT(Message(engine.CheckError({.identity = "a::b", .lease = &terms})),
              ::testing::HasSubstr("identity"));
  EXPECT_THAT(Message(engine.CheckError({.identity = "job", .target = "x", .lease = &terms})),
              ::testing::HasSubstr("target"));
}

}  // namespace
}  // namespace headgate::engine
