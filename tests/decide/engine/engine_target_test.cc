// One target's debts and permits, handed from one engine to another.

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/engine/saved_target.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using Unsaved = Engine::Unsaved;

// Two servers with one configuration, a little apart in time, since clocks count from anywhere.
class EngineTarget : public testing::Test {
 protected:
  static PolicySpec OnTwo(PolicySpec policy) {
    policy.targets.resize(2);
    policy.targets[0].name = "orders";
    policy.targets[1].name = "billing";
    return policy;
  }
  static EngineOptions OptionsOf(uint64_t permit_seed) {
    EngineOptions options = TestEngine::Options();
    options.permit_seed = permit_seed;
    return options;
  }
  explicit EngineTarget(PolicySpec policy = OneBudget(RateBudget("b", 10, 100)))
      : policy_(OnTwo(std::move(policy))),
        from_(policy_, OptionsOf(1)),
        to_(policy_, OptionsOf(2)) {}

  // Of the other server's clock.
  static Now There(absl::Duration since = absl::ZeroDuration()) {
    return At(since + absl::Hours(5));
  }
  static CheckRequest On(const std::string& target, std::string_view identity, double cost) {
    CheckRequest request = Request(identity, cost);
    request.target = target;
    return request;
  }
  SavedTarget Saved(TestEngine& engine, Now now) {
    absl::StatusOr<SavedTarget> saved = std::move(engine->SaveTargets({"orders"}, now).front());
    EXPECT_TRUE(saved.ok()) << saved.status();
    return saved.value_or(SavedTarget());
  }
  void Adopt(const SavedTarget* saved, Unsaved unsaved = Unsaved::kNothing) {
    const absl::Status status = to_->AdoptTarget("orders", saved, unsaved, There());
    EXPECT_TRUE(status.ok()) << status;
  }
  void HandOver(Now now = At()) {
    const SavedTarget saved = Saved(from_, now);
    Adopt(&saved);
  }
  double DebtThere(absl::Duration since = absl::ZeroDuration(),
                   std::string_view identity = "job:etl", const std::string& target = "orders") {
    return to_.Debt(On(target, identity, 0), "b", There(since));
  }

  PolicySpec policy_;
  TestEngine from_;
  TestEngine to_;
};

TEST_F(EngineTarget, SeveralAreSavedTogetherEachWithItsOwn) {
  from_.Check(On("orders", "job:etl", 10), At());
  from_.Check(On("billing", "job:etl", 20), At());
  from_.Check(On("billing", "job:etl", 30), At());
  const auto saved = from_->SaveTargets({"billing", "nowhere", "orders"}, At());
  ASSERT_EQ(saved.size(), 3U);
  ASSERT_TRUE(saved[0].ok() && saved[2].ok());
  EXPECT_TRUE(absl::IsNotFound(saved[1].status())) << saved[1].status();
  EXPECT_EQ(saved[0]->target, "billing");
  EXPECT_EQ(saved[0]->permits.size(), 2U);
  EXPECT_EQ(saved[2]->target, "orders");
  EXPECT_EQ(saved[2]->permits.size(), 1U);
  EXPECT_EQ(saved[2]->debts.at(0).owed_ns, Saved(from_, At()).debts.at(0).owed_ns);
  EXPECT_EQ(saved[0]->debts.at(0).owed_ns, 5 * saved[2]->debts.at(0).owed_ns);
}

TEST_F(EngineTarget, DebtGoesOnWhereItStood) {
  ASSERT_TRUE(from_.Check(On("orders", "job:etl", 80)).verdict == Verdict::kAllowed);
  HandOver(At(absl::Seconds(2)));
  EXPECT_DOUBLE_EQ(DebtThere(), 60);
  EXPECT_DOUBLE_EQ(DebtThere(absl::Seconds(1)), 50);
}

TEST_F(EngineTarget, ALeaseIsGivenBackToTheNewOwner) {
  const LeaseTerms terms{.least = 5, .life = absl::Seconds(1)};
  const std::string orders = "orders";  // outlives the request
  CheckRequest request = On(orders, "job:etl", 60);
  request.lease = &terms;
  const CheckAnswer lease = from_.Check(request);
  ASSERT_EQ(lease.grant.amount, 60);
  HandOver();
  EXPECT_DOUBLE_EQ(DebtThere(), 60);
  const ActualCost spent{.spent = ActualCost::Spent{.estimate = 20, .pieces = 4}};
  EXPECT_EQ(to_.Settle(lease.permit, spent, There()).outcome, ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(DebtThere(), 20);
}

TEST_F(EngineTarget, OtherTargetsAreLeftAlone) {
  from_.Check(On("billing", "job:etl", 70));
  to_.Check(On("billing", "job:etl", 30), There());
  HandOver();
  EXPECT_DOUBLE_EQ(DebtThere(), 0);
  EXPECT_DOUBLE_EQ(DebtThere({}, "job:etl", "billing"), 30);
}

TEST_F(EngineTarget, WhatTheNewOwnerKnewFromBeforeIsForgotten) {
  to_.Check(On("orders", "job:etl", 90), There());
  from_.Check(On("orders", "job:etl", 10));
  HandOver();
  EXPECT_DOUBLE_EQ(DebtThere(), 10);
}

// A crash: as much as a bucket holds may have been admitted since the state was written.
TEST_F(EngineTarget, AfterACrashOnlyWhatDrainsFromThenOnIsAdmitted) {
  from_.Check(On("orders", "job:etl", 20));
  const SavedTarget saved = Saved(from_, At());
  Adopt(&saved, Unsaved::kUpToBurst);
  EXPECT_DOUBLE_EQ(DebtThere(), 100);
  EXPECT_EQ(to_.Check(On("orders", "job:etl", 5), There()).verdict, Verdict::kDenied);
  EXPECT_EQ(to_.Check(On("orders", "job:etl", 5), There(absl::Milliseconds(500))).verdict,
            Verdict::kAllowed);
}

TEST_F(EngineTarget, AfterACrashWithoutAnyStateItIsTheSame) {
  Adopt(nullptr, Unsaved::kUpToBurst);
  EXPECT_DOUBLE_EQ(DebtThere(), 100);
  Adopt(nullptr);
  EXPECT_DOUBLE_EQ(DebtThere(), 0);
}

TEST_F(EngineTarget, DebtAboveTheBurstIsNotForgivenByACrash) {
  const CheckAnswer answer = from_.Check(On("orders", "job:etl", 90));
  from_.Report(answer.permit, 240);
  const SavedTarget saved = Saved(from_, At());
  Adopt(&saved, Unsaved::kUpToBurst);
  EXPECT_DOUBLE_EQ(DebtThere(), 240);
}

TEST_F(EngineTarget, DebtInAnotherUnitIsNoMoreThanTheBurst) {
  from_.Check(On("orders", "job:etl", 80));
  policy_.budgets[0].unit = BudgetUnit::kBusyTime;
  policy_.budgets[0].burst = 0.5;
  to_.Install(policy_, There());
  HandOver();
  EXPECT_DOUBLE_EQ(DebtThere(), 0.5);
}

TEST_F(EngineTarget, APermitOfTheOwnerBeforeIsSettledOnce) {
  const CheckAnswer answer = from_.Check(On("orders", "job:etl", 80));
  HandOver(At(absl::Seconds(1)));
  EXPECT_EQ(to_.Report(answer.permit, 30, There()), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(DebtThere(), 20);
  EXPECT_EQ(to_.Report(answer.permit, 30, There()), ReportOutcome::kAlreadySettled);
  EXPECT_DOUBLE_EQ(DebtThere(), 20);
}

TEST_F(EngineTarget, APermitThatCostMoreIsChargedByTheNewOwner) {
  const CheckAnswer answer = from_.Check(On("orders", "job:etl", 40));
  HandOver();
  EXPECT_EQ(to_.Report(answer.permit, 60, There()), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(DebtThere(), 60);
}

TEST_F(EngineTarget, ARefundTakesBackNoMoreThanHasNotDrained) {
  const CheckAnswer first = from_.Check(On("orders", "job:etl", 20));
  const CheckAnswer second = from_.Check(On("orders", "job:etl", 40));
  from_.Report(first.permit, 0, At(absl::Seconds(1)));
  HandOver(At(absl::Seconds(2)));
  ASSERT_DOUBLE_EQ(DebtThere(), 30);
  EXPECT_EQ(to_.Report(second.permit, 0, There()), ReportOutcome::kSettled);
  EXPECT_GE(DebtThere(), 0);
  EXPECT_LE(DebtThere(), 10);
}

TEST_F(EngineTarget, APermitThatGoesBackToWhoIssuedItIsSettledThere) {
  const CheckAnswer answer = from_.Check(On("orders", "job:etl", 80));
  HandOver();
  const SavedTarget saved = Saved(to_, There());
  ASSERT_TRUE(from_->AdoptTarget("orders", &saved, Unsaved::kNothing, At()).ok());
  EXPECT_DOUBLE_EQ(from_.Debt(On("orders", "job:etl", 0), "b"), 80);
  EXPECT_EQ(from_.Report(answer.permit, 0), ReportOutcome::kSettled);
  EXPECT_DOUBLE_EQ(from_.Debt(On("orders", "job:etl", 0), "b"), 0);
  EXPECT_EQ(from_.Report(answer.permit, 0), ReportOutcome::kAlreadySettled);
}

TEST_F(EngineTarget, TwoServersIssueDifferentPermits) {
  const PermitId here = from_.Check(On("orders", "job:etl", 1)).permit;
  const PermitId there = to_.Check(On("billing", "job:etl", 1), There()).permit;
  EXPECT_NE(here, there);
  EXPECT_TRUE(absl::IsNotFound(to_->Report(here, {}, There()).status()));
}

TEST_F(EngineTarget, StateOfAnotherSeedOrTargetIsRefused) {
  SavedTarget saved = Saved(from_, At());
  saved.seed = 8;
  EXPECT_TRUE(
      absl::IsInvalidArgument(to_->AdoptTarget("orders", &saved, Unsaved::kNothing, There())));
  saved = Saved(from_, At());
  EXPECT_TRUE(
      absl::IsInvalidArgument(to_->AdoptTarget("billing", &saved, Unsaved::kNothing, There())));
  EXPECT_TRUE(absl::IsNotFound(to_->AdoptTarget("stock", nullptr, Unsaved::kNothing, There())));
  saved.debts[0].owed_ns = -1;
  EXPECT_TRUE(
      absl::IsInvalidArgument(to_->AdoptTarget("orders", &saved, Unsaved::kNothing, There())));
}

// Work that takes all it is given, while the target goes from server to server: handed over, or
// after a crash. What one bucket would have admitted is the promise.
class WanderingTarget : public EngineTarget {
 protected:
  // How much more than the promise was admitted, at most.
  double Excess(uint32_t seed, Unsaved after_crash) {
    std::mt19937 random(seed);
    TestEngine first(policy_, OptionsOf(1)), second(policy_, OptionsOf(2));
    TestEngine* owner = &first;
    TestEngine* other = &second;
    SavedTarget saved = Saved(*owner, At());
    double debt = 0, excess = 0;  // by true time
    absl::Duration now, drained_at;
    for (int step = 0; step < 400; ++step) {
      now += absl::Milliseconds(random() % 400);
      const auto cost = static_cast<double>(1 + random() % 30);
      if (owner->Check(On("orders", "job:etl", cost), At(now)).verdict == Verdict::kAllowed) {
        debt = std::max(0.0, debt - 10 * absl::ToDoubleSeconds(now - drained_at)) + cost;
        drained_at = now;
        excess = std::max(excess, debt - 100);
      }
      const auto event = random() % 16;
      if (event < 4) saved = Saved(*owner, At(now));
      if (event < 2) {
        const Unsaved unsaved = event == 0 ? Unsaved::kNothing : after_crash;
        if (event == 1) saved = before_;
        EXPECT_TRUE((*other)->AdoptTarget("orders", &saved, unsaved, At(now)).ok());
        std::swap(owner, other);
      }
      before_ = saved;
    }
    return excess;
  }

  SavedTarget before_;
};

TEST_F(WanderingTarget, AllOwnersTogetherAdmitNoMoreThanOne) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    before_ = Saved(from_, At());
    EXPECT_LE(Excess(seed, Unsaved::kUpToBurst), 1e-6) << "seed " << seed;
  }
}

// So the test above can fail.
TEST_F(WanderingTarget, ATrustInWhatWasSavedBeforeACrashIsCaught) {
  double most = 0;
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    before_ = Saved(from_, At());
    most = std::max(most, Excess(seed, Unsaved::kNothing));
  }
  EXPECT_GT(most, 10);
}

class SplitTarget : public EngineTarget {
 protected:
  static BudgetSpec Split() {
    BudgetSpec budget = RateBudget("b", 10, 100);
    budget.split = SplitByDepth{2};
    budget.max_buckets = 64;
    return budget;
  }
  SplitTarget() : EngineTarget(OneBudget(Split())) {}
};

TEST_F(SplitTarget, EachBucketKeepsItsDebt) {
  for (int i = 1; i <= 20; ++i) {
    from_.Check(On("orders", absl::StrCat("job-", i, ":etl"), i));
  }
  HandOver();
  for (int i = 1; i <= 20; ++i) {
    EXPECT_DOUBLE_EQ(DebtThere({}, absl::StrCat("job-", i, ":etl")), i);
  }
}

TEST_F(SplitTarget, AfterACrashNewcomersHaveToWaitToo) {
  from_.Check(On("orders", "job-1:etl", 1));
  const SavedTarget saved = Saved(from_, At());
  Adopt(&saved, Unsaved::kUpToBurst);
  EXPECT_DOUBLE_EQ(DebtThere({}, "job-1:etl"), 100);
  EXPECT_DOUBLE_EQ(DebtThere({}, "nobody-knew:etl"), 100);
  EXPECT_EQ(to_.Check(On("orders", "nobody-knew:etl", 5), There()).verdict, Verdict::kDenied);
  EXPECT_EQ(to_.Check(On("orders", "nobody-knew:etl", 5), There(absl::Milliseconds(500))).verdict,
            Verdict::kAllowed);
}

TEST_F(SplitTarget, ADifferentSplitGivesEveryBucketTheLargestDebt) {
  BudgetSpec whole = RateBudget("b", 20, 100);
  to_.Install(OnTwo(OneBudget(whole)), There());
  from_.Check(On("orders", "job-1:etl", 10));
  from_.Check(On("orders", "job-2:etl", 70));
  HandOver();
  EXPECT_DOUBLE_EQ(DebtThere(), 70);
}

class ConcurrencyTarget : public EngineTarget {
 protected:
  ConcurrencyTarget() : EngineTarget(OneBudget(ConcurrencyBudget("b", 2))) {}
  bool AdmitsThere(absl::Duration since = absl::ZeroDuration()) {
    return to_.Check(On("orders", "job:etl", 1), There(since)).verdict == Verdict::kAllowed;
  }
};

TEST_F(ConcurrencyTarget, PermitsThatAreOutCountForTheNewOwner) {
  const CheckAnswer first = from_.Check(On("orders", "job:etl", 1));
  from_.Check(On("orders", "job:etl", 1));
  HandOver(At(absl::Seconds(10)));
  EXPECT_FALSE(AdmitsThere());
  EXPECT_EQ(to_.Report(first.permit, 1, There()), ReportOutcome::kSettled);
  EXPECT_TRUE(AdmitsThere());
  EXPECT_FALSE(AdmitsThere());
}

TEST_F(ConcurrencyTarget, APermitThatNobodyReportsHoldsItNoLongerThanItWouldHave) {
  from_.Check(On("orders", "job:etl", 1));
  const CheckAnswer late = from_.Check(On("orders", "job:etl", 1));
  HandOver(At(absl::Seconds(10)));
  EXPECT_FALSE(AdmitsThere(absl::Seconds(49)));
  EXPECT_TRUE(AdmitsThere(absl::Seconds(51)));
  EXPECT_EQ(to_.Report(late.permit, 1, There(absl::Seconds(52))), ReportOutcome::kSettled);
}

TEST_F(ConcurrencyTarget, WhoHandedATargetOverHoldsNothingOfItAnyMore) {
  from_.Check(On("orders", "job:etl", 1));
  from_.Check(On("orders", "job:etl", 1));
  HandOver();
  const SavedTarget saved = Saved(to_, There());
  ASSERT_EQ(saved.permits.size(), 2U);
  ASSERT_TRUE(from_->AdoptTarget("orders", &saved, Unsaved::kNothing, At()).ok());
  from_.Report(saved.permits[0].id, 1);
  EXPECT_EQ(from_.Check(On("orders", "job:etl", 1)).verdict, Verdict::kAllowed);
  EXPECT_EQ(from_.Check(On("orders", "job:etl", 1)).verdict, Verdict::kDenied);
}

}  // namespace
}  // namespace headgate::engine
