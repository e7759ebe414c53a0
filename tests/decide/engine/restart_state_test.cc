// What one engine saves and another restores: debt, permits, ids and costs, one by one.

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::engine {
namespace {

// Two processes, one after the other, that know the same policy.
class EngineRestart : public testing::Test {
 protected:
  explicit EngineRestart(PolicySpec policy = OneBudget(RateBudget("b", 10, 100)))
      : policy_(std::move(policy)), engine_(std::make_unique<Engine>(TestEngine::Options())) {
    EXPECT_TRUE(engine_->Install(policy_, At()).ok());
  }

  void Restart(Now saved_at, Now restored_at) {
    Restart(saved_at, restored_at, absl::ToInt64Nanoseconds(restored_at.wall() - saved_at.wall()));
  }
  void Restart(Now saved_at, Now restored_at, int64_t elapsed_ns,
               const EngineOptions& options = TestEngine::Options()) {
    SavedState state;
    engine_->Save(saved_at, state);
    engine_ = std::make_unique<Engine>(options);
    const absl::Status restored = engine_->Restore(state, restored_at, elapsed_ns);
    EXPECT_TRUE(restored.ok()) << restored;
    EXPECT_TRUE(engine_->Install(policy_, restored_at).ok());
  }

  CheckAnswer Check(const CheckRequest& request, Now now) {
    CheckAnswer answer;
    const absl::Status status = engine_->Check(request, now, answer);
    EXPECT_TRUE(status.ok()) << status;
    return answer;
  }
  double Debt(Now now, std::string_view identity = "job:etl") {
    const absl::StatusOr<Explanation> explanation = engine_->Explain(Request(identity, 0), now);
    EXPECT_TRUE(explanation.ok()) << explanation.status();
    return explanation.ok() ? explanation->buckets.at(0).debt : -1;
  }
  ReportOutcome Report(PermitId permit, double actual, Now now) {
    const absl::StatusOr<Settlement> outcome = engine_->Report(permit, {.cost = actual}, now);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->outcome : ReportOutcome::kForgotten;
  }

  PolicySpec policy_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineRestart, DebtDrainsOnWhileNobodyServes) {
  Check(Request("job:etl", 80), At());
  Restart(At(absl::Seconds(1)), At(absl::Seconds(4)));
  EXPECT_DOUBLE_EQ(Debt(At(absl::Seconds(4))), 40);
}

TEST_F(EngineRestart, DebtDrainsByNoMoreThanIsKnownToHavePassed) {
  Check(Request("job:etl", 80), At());
  // The clocks say an hour; the caller trusts them with nothing.
  Restart(At(), At(absl::Hours(1)), 0);
  EXPECT_DOUBLE_EQ(Debt(At(absl::Hours(1))), 80);
  EXPECT_DOUBLE_EQ(Debt(At(absl::Hours(1) + absl::Seconds(2))), 60);
}

TEST_F(EngineRestart, MonotonicTimeMayBeginAnew) {
  const CheckAnswer before = Check(Request("job:etl", 80), At());
  const Now reborn{.monotonic_ns = 5'000'000'000, .wall_ns = At(absl::Seconds(2)).wall_ns};
  Restart(At(), reborn, 2'000'000'000);
  EXPECT_DOUBLE_EQ(Debt(reborn), 60);
  // Of its minute two seconds have passed.
  EXPECT_EQ(engine_->ReadStats(reborn + absl::Seconds(57)).permits_live, 1U);
  EXPECT_EQ(engine_->ReadStats(reborn + absl::Seconds(59)).permits_live, 0U);
  EXPECT_EQ(Report(before.permit, 50, reborn), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(Debt(reborn), 30);
}

TEST_F(EngineRestart, APermitIsSettledOnceAndOnlyOnce) {
  const CheckAnswer reported = Check(Request("job:etl", 20), At());
  const CheckAnswer open = Check(Request("job:etl", 50), At());
  EXPECT_EQ(Report(reported.permit, 20, At()), ReportOutcome::kSettled);
  Restart(At(), At());
  EXPECT_EQ(Report(reported.permit, 0, At()), ReportOutcome::kAlreadySettled);
  EXPECT_DOUBLE_EQ(Debt(At()), 70);
  EXPECT_EQ(Report(open.permit, 10, At()), ReportOutcome::kSettled);
  EXPECT_EQ(Report(open.permit, 10, At()), ReportOutcome::kAlreadySettled);
  EXPECT_DOUBLE_EQ(Debt(At()), 30);
}

TEST_F(EngineRestart, RefundsCountAcrossIt) {
  const CheckAnswer first = Check(Request("job:etl", 50), At());
  const CheckAnswer second = Check(Request("job:etl", 50), At());
  Report(first.permit, 25, At());
  // 75 are owed: after 5 s half of the second has drained, though its place said 10 s when it was
  // charged. What is refunded is the other half, and nothing of the third's (30, as is learnt).
  Restart(At(), At(absl::Seconds(5)));
  EXPECT_NEAR(Check(Request("job:etl", 60), At(absl::Seconds(5))).predicted_cost, 30, 1e-5);
  Report(second.permit, 0, At(absl::Seconds(5)));
  EXPECT_NEAR(Debt(At(absl::Seconds(5))), 30, 1e-5);
}

TEST_F(EngineRestart, IdsOfPermitsThatWereLostAreNeitherReusedNorErrors) {
  Check(Request("job:etl", 1), At());
  SavedState state;
  engine_->Save(At(), state);
  std::vector<PermitId> lost;
  for (int i = 0; i < 50; ++i) lost.push_back(Check(Request("job:etl", 1), At()).permit);
  engine_ = std::make_unique<Engine>(TestEngine::Options());
  ASSERT_TRUE(engine_->Restore(state, At(), 0).ok());
  ASSERT_TRUE(engine_->Install(policy_, At()).ok());
  for (const PermitId id : lost) EXPECT_EQ(Report(id, 0, At()), ReportOutcome::kForgotten);
  for (int i = 0; i < 98; ++i) {
    const PermitId id = Check(Request("job:etl", 1), At()).permit;
    EXPECT_EQ(std::count(lost.begin(), lost.end(), id), 0);
  }
  for (const PermitId id : lost) EXPECT_EQ(Report(id, 0, At()), ReportOutcome::kForgotten);
  EXPECT_DOUBLE_EQ(Debt(At()), 99);
}

TEST_F(EngineRestart, TheSameRequestIdGetsTheSameAnswer) {
  CheckRequest request = Request("job:etl", 60);
  request.request_id = "once";
  const CheckAnswer before = Check(request, At());
  Restart(At(), At());
  const CheckAnswer after = Check(request, At());
  EXPECT_EQ(after.permit, before.permit);
  EXPECT_TRUE(after.repeated);
  EXPECT_EQ(after.predicted_cost, 60);
  EXPECT_DOUBLE_EQ(Debt(At()), 60);
}

TEST_F(EngineRestart, LearntCostsStay) {
  CheckRequest request = Request("job:etl", 10);
  request.pattern = "insert into orders";
  Report(Check(request, At()).permit, 30, At());
  EXPECT_NEAR(Check(request, At()).predicted_cost, 30, 1e-5);
  Restart(At(), At());
  EXPECT_NEAR(Check(request, At()).predicted_cost, 30, 1e-5);
}

TEST_F(EngineRestart, AnotherPolicyDoesToDebtWhatAReloadDoes) {
  const CheckAnswer open = Check(Request("job:etl", 80), At());
  policy_ = OneBudget(RateBudget("b", 20, 100));
  Restart(At(), At());
  EXPECT_DOUBLE_EQ(Debt(At()), 80);
  EXPECT_DOUBLE_EQ(Debt(At(absl::Seconds(1))), 60);
  Report(open.permit, 30, At());
  EXPECT_DOUBLE_EQ(Debt(At()), 30);

  policy_ = OneBudget(RateBudget("other", 10, 100));
  Restart(At(), At());
  EXPECT_DOUBLE_EQ(Debt(At()), 0);
  policy_ = OneBudget(RateBudget("b", 20, 100));
  ASSERT_TRUE(engine_->Install(policy_, At()).ok());
  EXPECT_DOUBLE_EQ(Debt(At()), 30);
}

TEST_F(EngineRestart, RefusesWhatNoEngineHasSaved) {
  Check(Request("job:etl", 80), At());
  SavedState state;
  engine_->Save(At(), state);
  const auto restored = [&](const auto& spoil) {
    SavedState spoilt = state;
    spoil(spoilt);
    return Engine(TestEngine::Options()).Restore(spoilt, At(), 0).code();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(restored([](SavedState&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(restored([](SavedState& s) { s.ledgers[0].empties_at_ns = -1; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.ledgers[0].ns_per_unit = 0; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.ledgers[0].clock = 77; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.ledgers.push_back(s.ledgers[0]); }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.ledgers[0].table.lines = {1, 0, 0}; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.clocks[0].speed_fixed = ~uint64_t{0}; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.permits[0].charges = 2; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.permits[0].slot = 1 << 20; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.charges[0].cost = -1; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.policy_version = ~uint64_t{0}; }), invalid);
  EXPECT_EQ(restored([](SavedState& s) { s.seed ^= 1; }), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(restored([](SavedState& s) { s.generation_floor = (uint64_t{1} << 39) + 1; }),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(EngineRestart, ATagThatNoCheckChargedIsNotCharged) {
  const CheckAnswer open = Check(Request("job:etl", 30), At());
  SavedState state;
  engine_->Save(At(), state);
  state.charges[0].tag = 2;
  engine_ = std::make_unique<Engine>(TestEngine::Options());
  ASSERT_TRUE(engine_->Restore(state, At(), 0).ok());
  ASSERT_TRUE(engine_->Install(policy_, At()).ok());
  EXPECT_EQ(Report(open.permit, 50, At()), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(Debt(At()), 30);
}

TEST_F(EngineRestart, AskingForMoreMemoryThanAnEngineMayHaveIsRefused) {
  SavedState state;
  engine_->Save(At(), state);
  state.ledgers[0].table.lines.assign(size_t{1} << 25, 0);
  EXPECT_EQ(Engine(TestEngine::Options()).Restore(state, At(), 0).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(EngineRestart, APermitThatWasIssuedDuringTheCopyIsForgotten) {
  std::atomic<bool> stop{false};
  std::atomic<size_t> issued{0};
  std::vector<PermitId> ids;  // the caller's until it has ended
  std::thread caller([&] {
    CheckAnswer answer;
    while (!stop) {
      ASSERT_TRUE(engine_->Check(Request("job:etl", 0), At(), answer).ok());
      ids.push_back(answer.permit);
      ++issued;
    }
  });
  while (issued.load() == 0) std::this_thread::yield();
  SavedState state;
  size_t before = 0;
  do {
    before = issued.load();
    engine_->Save(At(), state);
  } while (issued.load() < before + 10);
  stop = true;
  caller.join();
  engine_ = std::make_unique<Engine>(TestEngine::Options());
  ASSERT_TRUE(engine_->Restore(state, At(), 0).ok());
  ASSERT_TRUE(engine_->Install(policy_, At()).ok());
  // None was reported before, and none is reported twice.
  size_t wrong = 0;
  for (const PermitId id : ids) wrong += Report(id, 0, At()) == ReportOutcome::kAlreadySettled;
  EXPECT_EQ(wrong, 0U);
}

class WarnRestart : public EngineRestart {
 protected:
  static PolicySpec Policy() {
    BudgetSpec budget = RateBudget("b", 1, 5);
    budget.mode = Mode::kWarn;
    return OneBudget(std::move(budget));
  }
  WarnRestart() : EngineRestart(Policy()) {}
};

TEST_F(WarnRestart, WarningsAreToldAgainUnlessTheyNameNothing) {
  CheckRequest request = Request("job:etl", 60);
  request.request_id = "once";
  EXPECT_FALSE(Check(request, At()).violations.empty());
  // Another policy, in which places mean the same.
  policy_.budgets[0].burst = 6.0;
  ASSERT_TRUE(engine_->Install(policy_, At()).ok());
  SavedState state;
  engine_->Save(At(), state);
  ASSERT_EQ(state.requests.size(), 1U);
  ASSERT_FALSE(state.requests[0].warnings.empty());
  const auto restored = [&] {
    engine_ = std::make_unique<Engine>(TestEngine::Options());
    EXPECT_TRUE(engine_->Restore(state, At(), 0).ok());
    EXPECT_TRUE(engine_->Install(policy_, At()).ok());
    const CheckAnswer answer = Check(request, At());
    EXPECT_TRUE(answer.repeated);
    (void)answer.Sentence();
    return answer;
  };
  EXPECT_FALSE(restored().violations.empty());
  Violation& warning = state.requests[0].warnings[0];
  warning.budget = Violation::kNoBudget;
  EXPECT_TRUE(restored().violations.empty());
  warning.limit = Limit::kRule;
  warning.rule = kNoRule;
  EXPECT_TRUE(restored().violations.empty());
}

TEST_F(WarnRestart, ARepeatedAnswerIsTheSameWordForWord) {
  CheckRequest request = Request("job:etl", 60);
  request.request_id = "once";
  const CheckAnswer before = Check(request, At());
  CheckRequest stranger = Request("stranger", 1);
  stranger.request_id = "too";
  const std::string unmatched = Check(stranger, At()).Sentence();
  EXPECT_EQ(unmatched, "Allowed: no rule matches.");
  Restart(At(), At(absl::Seconds(1)));
  const CheckAnswer after = Check(request, At(absl::Seconds(1)));
  EXPECT_TRUE(after.repeated);
  EXPECT_EQ(after.Sentence(), before.Sentence());
  EXPECT_EQ(after.health.profile, before.health.profile);
  EXPECT_EQ(Check(stranger, At(absl::Seconds(1))).Sentence(), unmatched);
}

// docs/restart.md says so.
TEST_F(WarnRestart, ARepeatedAnswerLacksItsWarningsWhereNamesHaveChanged) {
  CheckRequest request = Request("job:etl", 60);
  request.request_id = "once";
  const CheckAnswer before = Check(request, At());
  policy_.budgets.push_back(MaxCostBudget("another", 5));
  Restart(At(), At());
  const CheckAnswer after = Check(request, At());
  EXPECT_TRUE(after.repeated);
  EXPECT_EQ(after.permit, before.permit);
  EXPECT_EQ(after.Sentence(), "Allowed.");
}

class HealthRestart : public EngineRestart {
 protected:
  static PolicySpec Policy() {
    PolicySpec spec = OneBudget(RateBudget("b", 10, 100));
    spec.profiles = {{.name = "lag", .signals = {"replication_lag_seconds"}}};
    spec.targets = {{.name = "orders", .capacity = {}, .default_health = "lag"}};
    return spec;
  }
  HealthRestart() : EngineRestart(Policy()) {}
};

TEST_F(HealthRestart, TheLastKnownSpeedIsTheOneOfTheTimeBetween) {
  ASSERT_TRUE(engine_->SetHealth("", "lag", {.speed = 0.25}, At()).ok());
  Check(Request("job:etl", 80), At());
  Restart(At(), At(absl::Seconds(8)));
  EXPECT_DOUBLE_EQ(Debt(At(absl::Seconds(8))), 60);
}

TEST_F(HealthRestart, AShutGateStaysShutAndDrainsNothing) {
  const Health shut{.speed = 0,
                    .status = HealthStatus::kHealthy,
                    .gate_shut = true,
                    .unread = true,
                    .pressure = 1.5,
                    .signal = 0,
                    .sampled_at_ns = At().monotonic_ns};
  Check(Request("job:etl", 80), At());
  ASSERT_TRUE(engine_->SetHealth("", "lag", shut, At()).ok());
  Restart(At(), At(absl::Hours(1)));
  const CheckAnswer answer = Check(Request("job:etl", 0), At(absl::Hours(1)));
  EXPECT_EQ(answer.reason, Reason::kHealth);
  EXPECT_TRUE(answer.health.health.unread);
  EXPECT_EQ(answer.health.SampleAge(), absl::Hours(1));
  ASSERT_TRUE(engine_->SetHealth("", "lag", {.speed = 1}, At(absl::Hours(1))).ok());
  EXPECT_DOUBLE_EQ(Debt(At(absl::Hours(1))), 80);
}

class ConcurrencyRestart : public EngineRestart {
 protected:
  ConcurrencyRestart() : EngineRestart(OneBudget(ConcurrencyBudget("b", 2))) {}
};

TEST_F(ConcurrencyRestart, OutstandingPermitsHoldTheirPlacesUntilReportedOrExpired) {
  const CheckAnswer first = Check(Request("job:etl", 1), At());
  Check(Request("job:etl", 1), At(absl::Seconds(10)));
  Restart(At(absl::Seconds(20)), At(absl::Seconds(30)));
  EXPECT_EQ(Check(Request("job:etl", 1), At(absl::Seconds(30))).reason, Reason::kMaxConcurrency);
  Report(first.permit, 1, At(absl::Seconds(30)));
  EXPECT_EQ(Check(Request("job:etl", 1), At(absl::Seconds(30))).verdict, Verdict::kAllowed);
  EXPECT_EQ(Check(Request("job:etl", 1), At(absl::Seconds(69))).verdict, Verdict::kDenied);
  EXPECT_EQ(Check(Request("job:etl", 1), At(absl::Seconds(71))).verdict, Verdict::kAllowed);
}

class SplitRestart : public EngineRestart {
 protected:
  static PolicySpec Policy() {
    BudgetSpec budget = RateBudget("b", 10, 100);
    budget.split = SplitByDepth{8};
    budget.max_buckets = 64;
    return OneBudget(std::move(budget));
  }
  SplitRestart() : EngineRestart(Policy()) {}
};

TEST_F(SplitRestart, EveryBucketOwesWhatItOwed) {
  for (int i = 1; i <= 40; ++i) Check(Request("job-" + std::to_string(i) + ":etl", i), At());
  Restart(At(), At());
  for (int i = 1; i <= 40; ++i) {
    EXPECT_NEAR(Debt(At(), "job-" + std::to_string(i) + ":etl"), i, 1e-9);
  }
}

class SlowRestart : public EngineRestart {
 protected:
  SlowRestart() : EngineRestart(OneBudget(RateBudget("b", 1e-6, 1e3))) {}
};

// A saver beside callers. What it saves at any moment owes all that had been reported before, even
// if every permit in it takes its charge back: each one's charge is there, and none's refund.
TEST_F(SlowRestart, EveryPermitThatIsSavedHasItsChargeSavedToo) {
  constexpr double kCost = 1e-5;  // callers beside a slow saver must not come to the burst
  constexpr size_t kOut = 300;    // permits of each caller
  const auto enough = static_cast<size_t>(Scaled(180'000));  // permits that are saved
  std::atomic<bool> stop{false};
  std::atomic<int> reported{0};
  std::atomic<int> under_way{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller) {
    callers.emplace_back([&] {
      CheckAnswer answer;
      std::deque<PermitId> out;
      bool is_first = true;
      while (!stop) {
        ASSERT_TRUE(engine_->Check(Request("job:etl", kCost), At(), answer).ok());
        ASSERT_EQ(answer.verdict, Verdict::kAllowed);
        out.push_back(answer.permit);
        if (out.size() < kOut) continue;
        ASSERT_TRUE(engine_->Report(out.front(), {.cost = kCost}, At()).ok());
        out.pop_front();
        ++reported;
        if (std::exchange(is_first, false)) ++under_way;
      }
    });
  }
  // From then on each has that many permits all the time.
  EXPECT_TRUE(WaitUntil([&] { return under_way == 2 || HasFailure(); }));
  for (size_t permits = 0; permits < enough && !HasFailure();) {
    const double before = kCost * reported.load();
    SavedState state;
    engine_->Save(At(), state);
    const double after = kCost * reported.load();
    Engine restored(TestEngine::Options());
    ASSERT_TRUE(restored.Restore(state, At(), 0).ok());
    ASSERT_TRUE(restored.Install(policy_, At()).ok());
    for (const SavedPermit& permit : state.permits) {
      const PermitId id = state.generations[permit.slot] << 24 | permit.slot;
      const absl::StatusOr<Settlement> outcome = restored.Report(id, {.cost = 0}, At());
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_EQ(outcome->outcome, ReportOutcome::kSettled);
    }
    // None where this thread had no processor for so long that all were reported meanwhile.
    permits += state.permits.size();
    const absl::StatusOr<Explanation> explanation = restored.Explain(Request("job:etl", 0), At());
    ASSERT_TRUE(explanation.ok());
    EXPECT_GE(explanation->buckets.at(0).debt, before - 1e-6);
    // Those that came or went meanwhile stay charged.
    EXPECT_LE(explanation->buckets.at(0).debt, after + 2 * kCost * (kOut + 1));
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace headgate::engine
