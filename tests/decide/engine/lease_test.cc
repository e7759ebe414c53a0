// Leases: granted in part, charged in advance, settled by what was spent.

#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/line_interface.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/thread_load.h"

namespace headgate::engine {
namespace {

using ::testing::StartsWith;

// A second's lease of at least `least`, at most `most`.
class Lease {
 public:
  Lease(std::string_view identity, double least, double most,
        absl::Duration life = absl::Seconds(1))
      : terms_{.least = least, .life = life} {
    request_ = {.identity = identity, .estimated_cost = most, .lease = &terms_};
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  CheckRequest& operator*() { return request_; }
  CheckRequest* operator->() { return &request_; }

 private:
  LeaseTerms terms_;
  CheckRequest request_;
};

ActualCost Spent(double estimate, int64_t pieces = 1) {
  return {.spent = ActualCost::Spent{.estimate = estimate, .pieces = pieces}};
}

CheckAnswer Ask(TestEngine& engine, double least, double most, Now now = At()) {
  Lease lease("job:etl", least, most);
  return engine.Check(*lease, now);
}

TEST(EngineLease, IsAllOfItWhereThereIsRoom) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer answer = Ask(engine, 5, 50);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.grant.amount, 50);
  EXPECT_EQ(answer.grant.time, absl::Seconds(1));
  EXPECT_EQ(answer.grant.largest_piece, kMaxAmount);
  EXPECT_FALSE(answer.grant.one_at_a_time);
  EXPECT_EQ(answer.predicted_cost, 50);
  EXPECT_NE(answer.permit, 0);
  EXPECT_EQ(engine.Debt("job:etl", "b"), 50);
}

TEST(EngineLease, IsAsMuchAsThereIsRoomFor) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  ASSERT_TRUE(engine.Admits("job:etl", 70));
  EXPECT_NEAR(Ask(engine, 5, 50).grant.amount, 30, 1e-6);
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 100, 1e-6);
}

TEST(EngineLease, OfLessThanOnePieceIsADenialAsOfACheckOfThatPiece) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  ASSERT_TRUE(engine.Admits("job:etl", 97));
  const CheckAnswer denial = Ask(engine, 5, 50);
  EXPECT_EQ(denial.verdict, Verdict::kDenied);
  EXPECT_EQ(denial.reason, Reason::kCapacity);
  EXPECT_EQ(denial.grant.amount, 0);
  EXPECT_EQ(denial.permit, 0);
  EXPECT_EQ(denial.retry_after, absl::Milliseconds(200));
  EXPECT_EQ(engine.Debt("job:etl", "b"), 97);
}

TEST(EngineLease, TakesTheSameShareOfEachBudget) {
  BudgetSpec busy = RateBudget("busy", 1, 10);
  busy.unit = BudgetUnit::kBusyTime;
  busy.default_cost = 0.5;  // of one piece, where nothing is known
  TestEngine engine(Budgets({RateBudget("rows", 1000, 1000), busy}));
  const CheckAnswer answer = Ask(engine, 10, 900);
  EXPECT_NEAR(answer.grant.amount, 200, 1e-6);  // 20 pieces of 0.5 s
  EXPECT_NEAR(engine.Debt("job:etl", "rows"), 200, 1e-6);
  EXPECT_NEAR(engine.Debt("job:etl", "busy"), 10, 1e-6);
  EXPECT_NEAR(absl::ToDoubleSeconds(*answer.predicted_busy_time), 10, 1e-6);
}

TEST(EngineLease, GivesBackWhatWasNotSpent) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer answer = Ask(engine, 5, 50);
  EXPECT_EQ(engine.Settle(answer.permit, Spent(20, 4), At(absl::Seconds(1))).outcome,
            ReportOutcome::kSettled);
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Seconds(1))), 10,
              1e-6);  // of 20, 10 have drained
  EXPECT_EQ(engine.Settle(answer.permit, Spent(20, 4), At(absl::Seconds(1))).outcome,
            ReportOutcome::kAlreadySettled);
}

TEST(EngineLease, OfWhichFarTooMuchWasSpentCanStillBeSaved) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer answer = Ask(engine, 0.001, 0.001);
  ASSERT_TRUE(engine.Admits("job:etl", 90));
  ActualCost actual = Spent(kMaxAmount, 1000);
  actual.spent->safe_estimate = kMaxAmount;
  engine.Settle(answer.permit, actual);
  SavedState state;
  engine->Save(At(), state);
  EXPECT_EQ(Validate(state), absl::OkStatus());
}

TEST(EngineLease, OfWhichNothingWasSpentIsGivenBackWhole) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  engine.Settle(Ask(engine, 5, 50).permit, Spent(0, 0));
  EXPECT_EQ(engine.Debt("job:etl", "b"), 0);
}

TEST(EngineLease, IsChargedWhatItsPiecesReallyCost) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  ActualCost actual = Spent(20, 4);
  actual.cost = 60;
  engine.Settle(Ask(engine, 5, 50).permit, actual);
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 60, 1e-6);
}

TEST(EngineLease, OfBusyTimeIsSettledByThePredictionAndNotByHowLongItLasted) {
  BudgetSpec busy = RateBudget("busy", 1, 10);
  busy.unit = BudgetUnit::kBusyTime;
  busy.default_cost = 0.1;
  TestEngine engine(OneBudget(busy));
  const CheckAnswer answer = Ask(engine, 1, 20);
  EXPECT_NEAR(engine.Debt("job:etl", "busy"), 2, 1e-6);
  engine.Settle(answer.permit, Spent(15, 15), At(absl::Seconds(1)));
  EXPECT_NEAR(engine.Debt("job:etl", "busy", At(absl::Seconds(1))), 0.5, 1e-6);
}

TEST(EngineLease, ThatNobodyReturnsCountsAsUsed) {
  TestEngine engine(Budgets({RateBudget("b", 10, 100), ConcurrencyBudget("one", 1)}));
  const CheckAnswer answer = Ask(engine, 5, 50);
  EXPECT_TRUE(answer.grant.one_at_a_time);
  EXPECT_EQ(Ask(engine, 5, 50, At(absl::Milliseconds(999))).reason, Reason::kMaxConcurrency);
  // Its place is free when its time is over.
  EXPECT_EQ(Ask(engine, 5, 5, At(absl::Seconds(1))).verdict, Verdict::kAllowed);
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Seconds(1))), 45, 1e-6);
  // A late return still settles what has not drained.
  engine.Settle(answer.permit, Spent(20, 4), At(absl::Seconds(1)));
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Seconds(1))), 15, 1e-6);
}

TEST(EngineLease, IsNotLimitedByABudgetThatOnlyWarns) {
  BudgetSpec warns = RateBudget("warns", 10, 20);
  warns.mode = Mode::kWarn;
  TestEngine engine(Budgets({RateBudget("b", 10, 100), warns}));
  const CheckAnswer answer = Ask(engine, 5, 50);
  EXPECT_EQ(answer.grant.amount, 50);
  ASSERT_EQ(answer.violations.size(), 1);
  EXPECT_TRUE(answer.violations[0].warn);
  EXPECT_EQ(engine.Debt("job:etl", "warns"), 0);
}

TEST(EngineLease, OnAnAutoBudgetIsSmallAndEndsBeforeItsRateChanges) {
  BudgetSpec budget = RateBudget("b", 0, 10);
  budget.rate = AutoRate{};
  budget.default_cost = 0.1;
  TestEngine engine(OneBudget(budget));
  const int64_t next_ns = (At() + absl::Milliseconds(250)).monotonic_ns;
  ASSERT_TRUE(engine
                  ->SetAutoRate("", "b",
                                {.rate = 1, .next_change_at_ns = next_ns, .start_level = 0.3}, At())
                  .ok());
  const CheckAnswer answer = Ask(engine, 1, 1000);
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 0.4, 1e-6);  // up to the level, and one piece
  EXPECT_NEAR(answer.grant.amount, 4, 1e-6);
  EXPECT_EQ(answer.grant.time, absl::Milliseconds(250));
}

TEST(EngineLease, TellsTheLargestPieceThatMaxCostAllows) {
  BudgetSpec budget = RateBudget("b", 100, 1000);
  budget.max_cost = 30;
  TestEngine engine(OneBudget(budget));
  // Work really costs three times what is estimated.
  for (int i = 0; i < 100; ++i) {
    const CheckAnswer check = engine.Check("job:etl", 1);
    engine.Report(check.permit, 3);
  }
  Lease lease("job:etl", 5, 50);
  const CheckAnswer answer = engine.Check(*lease, At(absl::Hours(1)));
  EXPECT_EQ(answer.grant.amount, 50);
  EXPECT_NEAR(answer.predicted_cost, 150, 1e-3);
  EXPECT_NEAR(answer.grant.largest_piece, 10, 1e-4);
  Lease large("job:etl", 31, 50);
  EXPECT_EQ(engine.Check(*large, At(absl::Hours(1))).reason, Reason::kMaxCost);
}

TEST(EngineLease, TakesTheShareThatARuleRejectsAlong) {
  PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.rules.push_back(RuleOn("half", "etl", RejectAction{0.5}));
  TestEngine engine(std::move(spec));
  for (int i = 0; i < 50; ++i) {
    const CheckAnswer answer = Ask(engine, 1, 1, At(i * absl::Seconds(1)));
    ASSERT_EQ(answer.verdict, Verdict::kAllowed);
    EXPECT_EQ(answer.grant.reject_ratio, 0.5);
  }
}

TEST(EngineLease, OfWhomARuleExemptsIsAllOfItAndChargedToNothing) {
  PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.rules.push_back(RuleOn("vip", "vip:etl", ExemptAction{}));
  TestEngine engine(std::move(spec));
  Lease lease("vip:etl", 5, 5000);
  const CheckAnswer answer = engine.Check(*lease);
  EXPECT_EQ(answer.reason, Reason::kExempt);
  EXPECT_EQ(answer.grant.amount, 5000);
  EXPECT_EQ(answer.permit, 0);
  EXPECT_EQ(engine.Debt("job:etl", "b"), 0);
}

TEST(EngineLease, IsDeniedByARuleAndAtAShutGateAsAnyCheck) {
  PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
  spec.budgets[0].health = "p";
  spec.profiles = {{.name = "p", .signals = {"lag"}, .thresholds = {{1, 3}}}};
  spec.rules.push_back(RuleOn("stop", "paused:etl", DenyAction{}));
  TestEngine engine(std::move(spec));
  Lease paused("paused:etl", 5, 50);
  EXPECT_EQ(engine.Check(*paused).reason, Reason::kDenyRule);
  engine.SetHealth("p", {.speed = 0, .status = HealthStatus::kHealthy, .gate_shut = true});
  EXPECT_EQ(Ask(engine, 5, 50).reason, Reason::kHealth);
}

TEST(EngineLease, IsGrantedOnceForOneRequestId) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  Lease lease("job:etl", 5, 50);
  lease->request_id = "7";
  const CheckAnswer first = engine.Check(*lease);
  const CheckAnswer again = engine.Check(*lease, At(absl::Milliseconds(400)));
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.permit, first.permit);
  EXPECT_EQ(again.grant.amount, 50);
  EXPECT_EQ(again.grant.time, absl::Milliseconds(600));
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(400))), 46, 1e-6);
}

TEST(EngineLease, NeedsAPermit) {
  EngineOptions options = TestEngine::Options();
  options.max_permit_share = 0.25;
  TestEngine engine(OneBudget(RateBudget("b", 10, 1e6)), options);
  // A Check whose holder has its share of the permits is charged for good.
  while (engine.Check("job:etl", 1).permit != 0) continue;
  const CheckAnswer denial = Ask(engine, 1, 5);
  EXPECT_EQ(denial.reason, Reason::kPermits);
  EXPECT_EQ(denial.grant.amount, 0);
}

TEST(EngineLease, IsDecidedByItselfInABatch) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  Lease lease("job:etl", 5, 60);
  const std::vector<CheckRequest> requests(3, *lease);
  std::vector<CheckAnswer> answers(3);
  std::vector<absl::Status> statuses(3);
  engine->CheckBatch(requests, At(), absl::MakeSpan(answers), absl::MakeSpan(statuses));
  EXPECT_EQ(answers[0].grant.amount, 60);
  EXPECT_NEAR(answers[1].grant.amount, 40, 1e-6);
  EXPECT_EQ(answers[2].verdict, Verdict::kDenied);
}

// What others would do to the grant, by a line that says who waits.
class Others final : public LineInterface {
 public:
  explicit Others(int64_t others) : others_(others) { lines_ = 1; }
  PlaceInLine Arrive(const LineArrival& /*arrival*/) override {
    return {.turn_in = absl::ZeroDuration(), .others = others_};
  }
  void Admitted(const LineAdmission& one) override { admitted_ns_ = one.cost_ns; }
  void Settled(uint64_t, uint64_t, int64_t delta_ns) override { settled_ns_ = delta_ns; }
  void RoomFreed(uint64_t) override {}
  void Changed() override {}
  int64_t admitted_ns() const { return admitted_ns_; }
  int64_t settled_ns() const { return settled_ns_; }

 private:
  const int64_t others_;
  int64_t admitted_ns_ = 0, settled_ns_ = 0;
};

TEST(EngineLease, WhereOthersWaitTakesItsPartOfWhatDrainsInItsTime) {
  Others others(3);
  TestEngine engine(OneBudget(RateBudget("b", 100, 1000)));
  engine->AttachLine(&others);
  EXPECT_NEAR(Ask(engine, 5, 500).grant.amount, 25, 1e-6);  // a quarter of 100
  EXPECT_EQ(Ask(engine, 50, 500).grant.amount, 50);         // one piece in any case
}

// Somebody is charged after the debt was read, and before the lease is.
class Overtaker final : public LineInterface {
 public:
  Overtaker(TestEngine& engine, double cost) : engine_(engine), cost_(cost) { lines_ = 1; }
  PlaceInLine Arrive(const LineArrival& /*arrival*/) override {
    if (std::exchange(is_done_, true)) return {.turn_in = absl::ZeroDuration()};
    EXPECT_TRUE(engine_.Admits("other:etl", cost_));
    return {.turn_in = absl::ZeroDuration()};
  }
  void Admitted(const LineAdmission&) override {}
  void Settled(uint64_t, uint64_t, int64_t) override {}
  void RoomFreed(uint64_t) override {}
  void Changed() override {}

 private:
  TestEngine& engine_;
  const double cost_;
  bool is_done_ = false;
};

TEST(EngineLease, ThatOthersOvertakeIsOnePieceIfThatFitsAndElseADenial) {
  for (const bool fits : {true, false}) {
    TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
    Overtaker overtaker(engine, fits ? 80 : 97);
    engine->AttachLine(&overtaker);
    const CheckAnswer answer = Ask(engine, 5, 50);
    EXPECT_EQ(answer.verdict, fits ? Verdict::kAllowed : Verdict::kDenied);
    EXPECT_EQ(answer.grant.amount, fits ? 5 : 0);
    EXPECT_NEAR(engine.Debt("job:etl", "b"), fits ? 85 : 97, 1e-6);
  }
}

TEST(EngineLease, IsToldToTheLineAsItWasGrantedAndReturned) {
  Others nobody(0);
  TestEngine engine(OneBudget(RateBudget("b", 100, 1000)));
  engine->AttachLine(&nobody);
  const CheckAnswer answer = Ask(engine, 5, 500);
  EXPECT_EQ(nobody.admitted_ns(), absl::ToInt64Nanoseconds(absl::Seconds(5)));
  engine.Settle(answer.permit, Spent(100, 20));
  EXPECT_EQ(nobody.settled_ns(), -absl::ToInt64Nanoseconds(absl::Seconds(4)));
}

TEST(EngineLease, TeachesWhatOneOfItsPiecesCosts) {
  TestEngine engine(OneBudget(RateBudget("b", 1e6, 1e6)));
  for (int i = 0; i < 100; ++i) {
    ActualCost actual = Spent(1000, 500);
    actual.cost = 3000;
    engine.Settle(Ask(engine, 2, 2000).permit, actual, At(i * absl::Seconds(1)));
  }
  const std::vector<LearntCost> learnt = engine->ReadLearntCosts({});
  ASSERT_EQ(learnt.size(), 1);
  EXPECT_NEAR(*learnt[0].cost_ratio, 3, 1e-3);
  EXPECT_NEAR(*learnt[0].mean_cost, 6, 1e-2);
  EXPECT_EQ(learnt[0].reports, 100);
}

TEST(EngineLease, OfWhichNothingWasSpentTeachesNothing) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  ActualCost actual = Spent(0, 0);
  actual.cost = 0;
  engine.Settle(Ask(engine, 5, 50).permit, actual);
  EXPECT_TRUE(engine->ReadLearntCosts({}).empty());
}

TEST(EngineLease, OutlivesARestartAndIsSettledAfterIt) {
  TestEngine before(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer answer = Ask(before, 5, 50);
  SavedState state;
  before->Save(At(), state);
  Engine after(TestEngine::Options());
  ASSERT_TRUE(after.Restore(state, At(), 0).ok());
  ASSERT_TRUE(after.Install(OneBudget(RateBudget("b", 10, 100)), At()).ok());
  ASSERT_TRUE(after.Report(answer.permit, Spent(20, 4), At()).ok());
  const auto explained = after.Explain(Request("job:etl", 0), At());
  EXPECT_NEAR(explained->buckets[0].debt, 20, 1e-6);
}

struct BadLease {
  const char* what;
  double least;
  std::optional<double> most;
  absl::Duration life;
  const char* error;
};

TEST(EngineLease, RefusesTermsThatMeanNothing) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::vector<BadLease> leases = {
      {"nothing", 0, 50, absl::Seconds(1), "lease.least: must be above 0"},
      {"negative", -1, 50, absl::Seconds(1), "lease.least: "},
      {"no number", kNaN, 50, absl::Seconds(1), "lease.least: "},
      {"huge", 1e300, 1e300, absl::Seconds(1), "estimated_cost: "},
      {"huge least", 1e300, 50, absl::Seconds(1), "lease.least: "},
      {"least above most", 51, 50, absl::Seconds(1),
       "lease.least: is 51, above the estimated_cost of 50"},
      {"no most", 5, std::nullopt, absl::Seconds(1), "estimated_cost: a lease has one"},
      {"short", 5, 50, absl::Milliseconds(99), "lease.time: is 99ms; at least 100ms"},
      {"long", 5, 50, absl::Seconds(11), "lease.time: is 11s; at least 100ms, at most 10s"},
      {"endless", 5, 50, absl::InfiniteDuration(), "lease.time: "},
  };
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  for (const BadLease& bad : leases) {
    const LeaseTerms terms{.least = bad.least, .life = bad.life};
    const absl::Status error =
        engine.CheckError({.identity = "etl", .estimated_cost = bad.most, .lease = &terms});
    EXPECT_TRUE(absl::IsInvalidArgument(error)) << bad.what;
    EXPECT_THAT(Message(error), StartsWith(bad.error)) << bad.what;
  }
  EXPECT_EQ(engine.Debt("etl", "b"), 0);
}

TEST(EngineLease, OfAPieceThatNeverFitsIsDeniedForGood) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer denial = Ask(engine, 101, 500);
  EXPECT_EQ(denial.verdict, Verdict::kDenied);
  EXPECT_EQ(denial.retry_after, absl::InfiniteDuration());
}

TEST(EngineLease, RefusesAReturnOfWhatCannotHaveBeenSpent) {
  TestEngine engine(OneBudget(RateBudget("b", 10, 100)));
  const CheckAnswer answer = Ask(engine, 5, 50);
  const std::vector<std::pair<ActualCost, const char*>> wrong = {
      {Spent(-1, 1), "lease_use.spent: "},
      {Spent(1e300, 1), "lease_use.spent: "},
      {Spent(std::numeric_limits<double>::quiet_NaN(), 1), "lease_use.spent: "},
      {Spent(10, -1), "lease_use.pieces: are -1"},
      {Spent(10, 10'000'000'001),
       "lease_use.pieces: are 10000000001; at least 0, at most 10000000000"},
      {Spent(10, 0), "lease_use.pieces: are 0"},
  };
  for (const auto& [actual, error] : wrong) {
    EXPECT_THAT(Message(engine->Report(answer.permit, actual, At()).status()), StartsWith(error));
  }
  EXPECT_EQ(engine.Debt("job:etl", "b"), 50);
  // What is above the grant is charged, as a Report above its prediction is.
  engine.Settle(answer.permit, Spent(70, 2));
  EXPECT_NEAR(engine.Debt("job:etl", "b"), 70, 1e-6);
}

// Four greedy holders of one budget until the first has been refused 200 times, 10 ms apart. Each
// spends a part of what it is granted, and returns the rest. Returns what they spent.
double SpendWithThreads(double part, double& elapsed_s) {
  TestEngine engine(OneBudget(RateBudget("b", 1000, 1000)), ShortPermits());
  ThreadLoad load;
  PerThread<double> spent;
  load.Run([&](int thread) {
    const LeaseTerms terms{.least = 1, .life = kShortestLease};
    const std::string identity = absl::StrCat("t", thread, ":etl");
    CheckAnswer answer;
    for (int denied = 0; !load.done();) {
      const Now now = load.now();
      ASSERT_TRUE(
          engine->Check({.identity = identity, .estimated_cost = 50, .lease = &terms}, now, answer)
              .ok());
      if (answer.verdict == Verdict::kDenied) {
        if (thread != 0) {
          std::this_thread::yield();
          continue;
        }
        if (++denied == 200) return load.Finish();
        load.Advance(absl::Milliseconds(10));
        continue;
      }
      ASSERT_GE(answer.grant.amount, 1);
      spent[thread] += part * answer.grant.amount;
      if (part < 1) engine.Settle(answer.permit, Spent(part * answer.grant.amount), now);
    }
  });
  elapsed_s = load.elapsed_s();
  return spent.Sum();
}

TEST(LeaseThreads, AreGrantedAllThatIsDueAndNoMore) {
  double elapsed_s = 0;
  const double spent = SpendWithThreads(1, elapsed_s);
  EXPECT_LE(spent, 1000 + 1000 * elapsed_s + 0.01);
  EXPECT_GE(spent, 0.99 * (1000 + 1000 * elapsed_s));
}

TEST(LeaseThreads, SpendNoMoreThanIsDueThoughTheyReturnTheRest) {
  double elapsed_s = 0;
  const double spent = SpendWithThreads(0.3, elapsed_s);
  EXPECT_LE(spent, 1000 + 1000 * elapsed_s + 0.01);
  EXPECT_GE(spent, 0.9 * (1000 + 1000 * elapsed_s));
}

}  // namespace
}  // namespace headgate::engine
