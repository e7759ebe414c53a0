// What the engine asks the line, what it tells it, and what it makes of the answers.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/line_order.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// Answers as it is told to, and remembers what it was asked and told.
class FakeLine final : public LineInterface {
 public:
  struct Arrived {
    uint64_t key, subject_key, ticket;
    bool waits;
    int64_t cost_ns, burst_ns, debt_ns;
    double speed;
    LineFlow flow;
  };
  struct Told {
    uint64_t key, leaf_key;
    int64_t ns;
    uint64_t ticket;
  };

  PlaceInLine Arrive(const LineArrival& arrival) override {
    arrived.push_back({arrival.key, arrival.subject_key, arrival.ticket, arrival.waits,
                       arrival.cost_ns, arrival.burst_ns, arrival.debt_ns, arrival.speed,
                       arrival.flow});
    const auto own = standing_at.find(arrival.key);
    return own == standing_at.end() ? standing : own->second;
  }
  void Admitted(const LineAdmission& one) override {
    EXPECT_EQ(one.flow.LeafKey(), one.subject_key);
    admitted.push_back({one.key, one.subject_key, one.cost_ns, one.ticket});
  }
  void Settled(uint64_t key, uint64_t leaf_key, int64_t delta_ns) override {
    settled.push_back({key, leaf_key, delta_ns, 0});
  }
  void RoomFreed(uint64_t key) override { freed.push_back(key); }
  void Changed() override { ++changes; }

  void SetHere(bool here) { lines_ = here ? 1 : 0; }

  PlaceInLine standing;
  std::map<uint64_t, PlaceInLine> standing_at;
  std::vector<Arrived> arrived;
  std::vector<Told> admitted, settled;
  std::vector<uint64_t> freed;
  int changes = 0;
};

class EngineLine : public testing::Test {
 protected:
  TestEngine& Make(PolicySpec spec) {
    engine_.emplace(std::move(spec));
    (*engine_)->AttachLine(&gate_);
    gate_.SetHere(true);
    return *engine_;
  }
  void StandBehind(absl::Duration turn_in) {
    gate_.standing.behind = true;
    gate_.standing.turn_in = turn_in;
  }

  FakeLine gate_;
  std::optional<TestEngine> engine_;
};

constexpr int64_t kSecond = 1'000'000'000;

TEST_F(EngineLine, WhereNobodyIsTheGateIsNotAskedAndOnlyHearsOfChanges) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 1, 100)));
  gate_.SetHere(false);
  StandBehind(absl::Seconds(1));
  const CheckAnswer answer = engine.Check("etl", 40);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  engine.Report(answer.permit, 10);
  engine.Install(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(gate_.arrived.empty());
  EXPECT_TRUE(gate_.admitted.empty());
  EXPECT_TRUE(gate_.settled.empty());
  EXPECT_EQ(gate_.changes, 1);  // for those who only wait for one
}

TEST_F(EngineLine, WhoIsBehindOthersIsToldItsTurnThoughThereIsRoom) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 2, 100)));
  StandBehind(absl::Seconds(7));
  const CheckAnswer answer = engine.Check("job:etl", 40);
  EXPECT_EQ(answer.verdict, Verdict::kDenied);
  EXPECT_EQ(answer.reason, Reason::kLine);
  ASSERT_EQ(answer.violations.size(), 1U);
  EXPECT_EQ(answer.violations[0].limit, Limit::kLine);
  EXPECT_EQ(answer.violations[0].line_key, gate_.arrived[0].key);
  EXPECT_EQ(answer.violations[0].cost_ns, 20 * kSecond);
  EXPECT_EQ(answer.retry_after, absl::Seconds(7));
  EXPECT_EQ(answer.Sentence().find("budget 'b': others wait for it"),
            answer.Sentence().find("budget"));
  EXPECT_EQ(engine.Debt("etl", "b"), 0);
}

TEST_F(EngineLine, TheGateIsToldWhatIsKnownOfTheBucket) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 2, 100)));
  engine.Check("job:etl", 60);
  engine.Check({.identity = "job:etl", .estimated_cost = 20, .waits = true, .ticket = 9},
               At(absl::Seconds(10)));
  ASSERT_EQ(gate_.arrived.size(), 2U);
  const FakeLine::Arrived& second = gate_.arrived[1];
  EXPECT_EQ(second.key, gate_.arrived[0].key);
  EXPECT_EQ(second.ticket, 9U);
  EXPECT_TRUE(second.waits);
  EXPECT_EQ(second.cost_ns, 10 * kSecond);
  EXPECT_EQ(second.burst_ns, 50 * kSecond);
  EXPECT_EQ(second.debt_ns, 20 * kSecond);
  EXPECT_EQ(second.speed, 1);
  EXPECT_EQ(second.flow.depth, 2);
  EXPECT_EQ(second.flow.LeafKey(), second.subject_key);
  ASSERT_EQ(gate_.admitted.size(), 2U);
  EXPECT_EQ(gate_.admitted[1].key, second.key);
  EXPECT_EQ(gate_.admitted[1].ns, 10 * kSecond);
  EXPECT_EQ(gate_.admitted[1].ticket, 9U);
}

TEST_F(EngineLine, HeldRoomIsNobodyElses) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 1, 100)));
  gate_.standing.held_ns = 30 * kSecond;
  EXPECT_TRUE(engine.Admits("etl", 70));
  const CheckAnswer answer = engine.Check("etl", 1);
  EXPECT_EQ(answer.reason, Reason::kCapacity);
  EXPECT_EQ(answer.violations[0].observed, 101);
  EXPECT_EQ(answer.retry_after, absl::Seconds(1));
  gate_.standing.held_ns = 0;
  EXPECT_TRUE(engine.Admits("etl", 30));
}

TEST_F(EngineLine, WhatIsHeldAboveTheBurstIsTheBurst) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 1, 100)));
  gate_.standing.held_ns = 500 * kSecond;
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::Seconds(1));
  EXPECT_TRUE(engine.Admits("etl", 0));
}

TEST_F(EngineLine, NobodyIsAdmittedWhoIsBehindAtOneOfTwoBuckets) {
  TestEngine& engine = Make(Budgets({RateBudget("a", 1, 100), RateBudget("b", 1, 100)}));
  engine.Check("etl", 10);
  gate_.standing_at[gate_.arrived[1].key] = {
      .behind = true, .held_ns = 0, .turn_in = absl::Seconds(3)};
  const CheckAnswer answer = engine.Check("etl", 10);
  EXPECT_EQ(answer.reason, Reason::kLine);
  EXPECT_EQ(BudgetOf(answer, 0), "b");
  EXPECT_EQ(engine.Debt("etl", "a"), 10);
  EXPECT_EQ(gate_.admitted.size(), 2U);  // of the first Check
}

TEST_F(EngineLine, ABudgetThatOnlyWarnsHasNoLine) {
  BudgetSpec budget = RateBudget("b", 1, 100);
  budget.mode = Mode::kWarn;
  TestEngine& engine = Make(OneBudget(budget));
  StandBehind(absl::Seconds(1));
  EXPECT_TRUE(engine.Admits("etl", 10));
  EXPECT_TRUE(gate_.arrived.empty());
}

TEST_F(EngineLine, WhoCanNeverBeAdmittedDoesNotArrive) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_EQ(engine.Check("etl", 101).reason, Reason::kCapacity);
  EXPECT_TRUE(gate_.arrived.empty());
}

TEST_F(EngineLine, ANewcomerDoesNotOvertakeThoseWhoWaitForAPermit) {
  TestEngine& engine = Make(OneBudget(ConcurrencyBudget("slots", 2)));
  StandBehind(absl::Seconds(4));
  const CheckAnswer answer = engine.Check("etl", 10);
  EXPECT_EQ(answer.reason, Reason::kLine);
  EXPECT_EQ(answer.violations[0].cost_ns, 0);
  ASSERT_EQ(gate_.arrived.size(), 1U);
  EXPECT_EQ(gate_.arrived[0].burst_ns, 0);
}

TEST_F(EngineLine, APermitThatIsGivenBackIsTold) {
  TestEngine& engine = Make(OneBudget(ConcurrencyBudget("slots", 1)));
  const CheckAnswer holder = engine.Check("etl", 10);
  const CheckAnswer denied = engine.Check("etl", 10);
  EXPECT_EQ(denied.reason, Reason::kMaxConcurrency);
  engine.Report(holder.permit, 10);
  EXPECT_EQ(gate_.freed, std::vector<uint64_t>{denied.violations[0].line_key});
  EXPECT_EQ(gate_.arrived[0].key, denied.violations[0].line_key);
}

TEST_F(EngineLine, APermitThatExpiresIsTold) {
  TestEngine& engine = Make(OneBudget(ConcurrencyBudget("slots", 1)));
  engine.Check("etl", 10);
  EXPECT_TRUE(engine.Admits("etl", 10, At(absl::Minutes(2))));
  EXPECT_EQ(gate_.freed, std::vector<uint64_t>{gate_.arrived[0].key});
}

TEST_F(EngineLine, AReportTellsWhatItChargesAndGivesBack) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 2, 100)));
  const CheckAnswer more = engine.Check("a:etl", 10);
  const CheckAnswer less = engine.Check("b:etl", 20);
  engine.Report(more.permit, 16);
  engine.Report(less.permit, 12);
  ASSERT_EQ(gate_.settled.size(), 2U);
  EXPECT_EQ(gate_.settled[0].key, gate_.arrived[0].key);
  EXPECT_EQ(gate_.settled[0].leaf_key, more.subject_key);
  EXPECT_EQ(gate_.settled[0].ns, 3 * kSecond);
  EXPECT_EQ(gate_.settled[1].leaf_key, less.subject_key);
  EXPECT_EQ(gate_.settled[1].ns, -4 * kSecond);
}

// Its charge moved nobody's tag, so its refund must move none either.
TEST_F(EngineLine, OfACheckFromBeforeTheLineOnlyTheRoomIsTold) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 2, 100)));
  gate_.SetHere(false);
  const PermitId permit = engine.Check("etl", 10).permit;
  gate_.SetHere(true);
  engine.Report(permit, 4);
  EXPECT_TRUE(gate_.settled.empty());
  EXPECT_EQ(gate_.freed.size(), 1U);
}

TEST_F(EngineLine, ForgivenDebtIsRoom) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 2, 100)));
  engine.Check("etl", 10);
  ASSERT_TRUE(engine->ForgiveDebt({.identity = "etl", .budget = "b"}, At()).ok());
  EXPECT_EQ(gate_.freed, std::vector<uint64_t>{gate_.arrived[0].key});
  ASSERT_TRUE(engine->ForgiveDebt({.identity = "etl", .budget = "b"}, At()).ok());
  EXPECT_EQ(gate_.freed.size(), 1U);
}

TEST_F(EngineLine, ChangesOfPolicySpeedAndGateAreTold) {
  PolicySpec spec = OneBudget(RateBudget("b", 2, 100));
  spec.profiles = {{.name = "lag", .signals = {"lag"}}};
  TestEngine& engine = Make(spec);
  engine.Install(spec);
  EXPECT_EQ(gate_.changes, 1);
  engine.SetHealth("lag", {.speed = 0.5, .status = HealthStatus::kHealthy});
  EXPECT_EQ(gate_.changes, 2);
  engine.SetHealth("lag", {.speed = 0.5, .status = HealthStatus::kHealthy, .sampled_at_ns = 5});
  EXPECT_EQ(gate_.changes, 2);
  engine.SetHealth("lag", {.speed = 0.5, .status = HealthStatus::kHealthy, .gate_shut = true});
  EXPECT_EQ(gate_.changes, 3);
}

TEST_F(EngineLine, ChangesOfAnAutoRateAreTold) {
  BudgetSpec budget = RateBudget("loop", 1, 5);
  budget.rate = AutoRate{};
  TestEngine& engine = Make(OneBudget(budget));
  ASSERT_TRUE(engine->SetAutoRate("", "loop", {.rate = 2}, At()).ok());
  ASSERT_TRUE(engine->SetAutoRate("", "loop", {.rate = 2, .next_change_at_ns = 7}, At()).ok());
  EXPECT_EQ(gate_.changes, 1);
  ASSERT_TRUE(engine->SetAutoRate("", "loop", {.rate = 2, .shut = true}, At()).ok());
  EXPECT_EQ(gate_.changes, 2);
}

TEST_F(EngineLine, EveryPlaceToWaitHasAKeyOfItsOwn) {
  PolicySpec spec = Budgets({RateBudget("b", 1, 100)});
  spec.profiles = {{.name = "lag", .signals = {"lag"}}};
  spec.budgets[0].health = "lag";
  spec.rules.push_back(RuleOn("pause", "paused:etl", DenyAction{}));
  TestEngine& engine = Make(spec);
  const uint64_t pause = engine.Check("paused:etl", 1).violations.at(0).line_key;
  engine.Check("etl", 100);
  const uint64_t bucket = engine.Check("etl", 1).violations.at(0).line_key;
  engine.SetHealth("lag", {.speed = 0, .status = HealthStatus::kHealthy, .gate_shut = true});
  const uint64_t gate = engine.Check("etl", 0).violations.at(0).line_key;
  EXPECT_NE(pause, 0U);
  EXPECT_NE(bucket, 0U);
  EXPECT_NE(gate, 0U);
  EXPECT_NE(pause, bucket);
  EXPECT_NE(bucket, gate);
  EXPECT_NE(pause, gate);
}

TEST_F(EngineLine, ADenialOfOneThatWaitsSaysWhoAsks) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.rules.push_back(RuleOn("urgent", "job:etl", PriorityAction{4}));
  spec.rules.push_back(RuleOn("heavy", "etl", WeightAction{3}));
  TestEngine& engine = Make(spec);
  gate_.SetHere(false);
  engine.Check("etl", 10);
  const CheckAnswer denied =
      engine.Check({.identity = "job:etl", .estimated_cost = 1, .waits = true});
  EXPECT_EQ(denied.flow.priority, 4);
  ASSERT_EQ(denied.flow.depth, 2);
  EXPECT_EQ(denied.flow.levels[0].weight, 3);
  EXPECT_EQ(denied.flow.levels[1].weight, 1);
  EXPECT_EQ(denied.flow.levels[1].key, denied.subject_key);
}

TEST_F(EngineLine, FlowsOfOneLevelShareItsKey) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 1, 100)));
  engine.Check("x:job:etl", 1);
  engine.Check("y:job:etl", 1);
  const LineFlow& x = gate_.arrived[0].flow;
  const LineFlow& y = gate_.arrived[1].flow;
  EXPECT_EQ(x.levels[0].key, y.levels[0].key);
  EXPECT_EQ(x.levels[1].key, y.levels[1].key);
  EXPECT_NE(x.levels[2].key, y.levels[2].key);
}

TEST_F(EngineLine, ExplainSaysThatOthersAreBeforeAndKeepsNoPlace) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 1, 100)));
  StandBehind(absl::Seconds(7));
  EXPECT_EQ(engine.Explain(Request("etl", 10)).answer.reason, Reason::kLine);
  ASSERT_FALSE(gate_.arrived.empty());
  EXPECT_TRUE(gate_.arrived[0].waits);
}

TEST_F(EngineLine, InABatchEachCheckIsAsked) {
  TestEngine& engine = Make(OneBudget(RateBudget("b", 1, 100)));
  const std::vector<CheckRequest> requests(3, Request("etl", 10));
  std::vector<CheckAnswer> answers(3);
  std::vector<absl::Status> statuses(3);
  engine->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  EXPECT_EQ(gate_.arrived.size(), 3U);
  EXPECT_EQ(gate_.admitted.size(), 3U);
}

}  // namespace
}  // namespace headgate::engine
