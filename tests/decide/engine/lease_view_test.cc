// Leases as operators see them: who holds how much, until when.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/lease_names.h"
#include "server/decide/engine/saved_state.h"
#include "server/decide/engine/saved_target.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr LeaseQuery kAllLeases{.most_holders = 1000, .most_leases = 100};

CheckAnswer TakeLease(TestEngine& engine, const std::string& identity, double amount,
                      Now now = At(), absl::Duration life = absl::Seconds(1)) {
  const LeaseTerms terms{.least = 1, .life = life};
  CheckRequest request = Request(identity, amount);
  request.lease = &terms;
  return engine.Check(request, now);
}

void ReturnLease(TestEngine& engine, const CheckAnswer& lease, Now now = At()) {
  engine.Settle(lease.permit, {.spent = ActualCost::Spent{.estimate = 1, .pieces = 1}}, now);
}

LeasesView ReadAll(TestEngine& engine, Now now = At(), const LeaseQuery& query = kAllLeases) {
  return engine->ReadLeases(query, now);
}

// "job:etl 2 of 50, 1 overdue".
std::vector<std::string> HoldersIn(const LeasesView& view) {
  std::vector<std::string> holders;
  for (const LeaseHolderView& holder : view.holders) {
    const LeaseSums& sums = holder.sums;
    holders.push_back(absl::StrCat(
        holder.identity.empty() ? "?" : holder.identity, " ", sums.leases, " of ", sums.amount,
        sums.overdue == 0 ? "" : absl::StrCat(", ", sums.overdue, " overdue")));
  }
  return holders;
}

class LeaseViewTest : public testing::Test {
 protected:
  TestEngine engine_{OneBudget(RateBudget("b", 10, 1000))};
};

TEST_F(LeaseViewTest, SaysWhoHoldsHowMuchUntilWhenAndWhatItWasCharged) {
  TakeLease(engine_, "job:etl", 50);
  TakeLease(engine_, "job:etl", 20, At(absl::Milliseconds(500)));
  const LeasesView view = ReadAll(engine_, At(absl::Milliseconds(700)));
  ASSERT_THAT(HoldersIn(view), ElementsAre("job:etl 2 of 70"));
  const LeaseHolderView& holder = view.holders[0];
  EXPECT_EQ(holder.latest_end, absl::Milliseconds(800));
  ASSERT_THAT(holder.charges, SizeIs(1));
  EXPECT_EQ(holder.charges[0].budget, "b");
  EXPECT_EQ(holder.charges[0].unit, BudgetUnit::kCost);
  EXPECT_NEAR(holder.charges[0].cost, 70, 1e-6);
  ASSERT_THAT(holder.leases, SizeIs(2));
  EXPECT_EQ(holder.leases[0].amount, 20);
  EXPECT_EQ(holder.leases[0].granted_ago, absl::Milliseconds(200));
  EXPECT_EQ(holder.leases[0].ends_in, absl::Milliseconds(800));
  EXPECT_FALSE(holder.leases[0].is_overdue());
  ASSERT_THAT(holder.leases[1].charges, SizeIs(1));
  EXPECT_NEAR(holder.leases[1].charges[0].cost, 50, 1e-6);
}

TEST_F(LeaseViewTest, KnowsNothingOfPermitsThatAreNoLeases) {
  ASSERT_TRUE(engine_.Admits("job:etl", 50));
  EXPECT_THAT(HoldersIn(ReadAll(engine_)), IsEmpty());
}

TEST_F(LeaseViewTest, OneThatWasReturnedIsGone) {
  const CheckAnswer first = TakeLease(engine_, "job:etl", 50);
  TakeLease(engine_, "job:etl", 20);
  ReturnLease(engine_, first);
  EXPECT_THAT(HoldersIn(ReadAll(engine_)), ElementsAre("job:etl 1 of 20"));
}

TEST_F(LeaseViewTest, APermitInThePlaceOfOneIsNone) {
  TestEngine small(OneBudget(RateBudget("b", 10, 1000)),
                   EngineOptions{.seed = 7, .max_permits = 64, .max_permit_share = 1});
  for (int i = 0; i < 64; ++i) ReturnLease(small, TakeLease(small, "job:etl", 2));
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(small.Admits("job:etl", 1));
  EXPECT_THAT(HoldersIn(ReadAll(small)), IsEmpty());
}

TEST_F(LeaseViewTest, OneThatWasNotReturnedInTimeIsOverdueAndHeldNoMore) {
  const CheckAnswer lease = TakeLease(engine_, "job:etl", 50);
  const Now later = At(absl::Seconds(1));
  const LeasesView view = ReadAll(engine_, later);
  ASSERT_THAT(HoldersIn(view), ElementsAre("job:etl 0 of 0, 1 overdue"));
  EXPECT_EQ(view.holders[0].sums.overdue_amount, 50);
  EXPECT_THAT(view.holders[0].charges, IsEmpty());
  EXPECT_EQ(view.holders[0].leases.at(0).ends_in, absl::ZeroDuration());
  EXPECT_TRUE(view.holders[0].leases[0].is_overdue());
  // A look for what has expired makes no difference to what is shown.
  engine_.Check(Request("other:etl", 1), At(absl::Minutes(2)));
  EXPECT_THAT(HoldersIn(ReadAll(engine_, At(absl::Minutes(2)))),
              ElementsAre("job:etl 0 of 0, 1 overdue"));
  ReturnLease(engine_, lease, At(absl::Minutes(2)));
  EXPECT_THAT(HoldersIn(ReadAll(engine_, At(absl::Minutes(2)))), IsEmpty());
}

TEST_F(LeaseViewTest, OneThatWasNeverReturnedIsShownForAWhile) {
  TakeLease(engine_, "job:etl", 50);
  const Now last = At(absl::Seconds(1) + LeaseQuery::kOverdueShown);
  EXPECT_THAT(HoldersIn(ReadAll(engine_, last)), SizeIs(1));
  EXPECT_THAT(HoldersIn(ReadAll(engine_, last + absl::Nanoseconds(1))), IsEmpty());
}

TEST_F(LeaseViewTest, OneThatExpiredAndGaveItsPlaceBackIsOverdueStill) {
  TestEngine engine(OneBudget(ConcurrencyBudget("b", 1)));
  TakeLease(engine, "job:etl", 50);
  ASSERT_TRUE(engine.Admits("job:etl", 1, At(absl::Seconds(2))));
  EXPECT_THAT(HoldersIn(ReadAll(engine, At(absl::Seconds(2)))),
              ElementsAre("job:etl 0 of 0, 1 overdue"));
}

TEST_F(LeaseViewTest, WhoeverIsExemptOrUnlimitedHoldsNone) {
  PolicySpec policy = OneBudget(RateBudget("b", 10, 1000));
  policy.rules[0].match.identity = "etl";
  policy.rules.push_back(RuleOn("free", "free:etl", ExemptAction{}));
  TestEngine engine(std::move(policy));
  EXPECT_EQ(TakeLease(engine, "free:etl", 50).reason, Reason::kExempt);
  EXPECT_EQ(TakeLease(engine, "web", 50).grant.amount, 50);
  EXPECT_THAT(HoldersIn(ReadAll(engine)), IsEmpty());
}

TEST_F(LeaseViewTest, ShowsWhoHoldsMostAndCountsAll) {
  for (int i = 1; i <= 20; ++i) TakeLease(engine_, absl::StrCat("job-", i, ":etl"), i);
  for (int i = 0; i < 9; ++i) TakeLease(engine_, "many:etl", 10 + i);
  const LeasesView view = ReadAll(engine_, At(), {.most_holders = 3, .most_leases = 2});
  EXPECT_THAT(HoldersIn(view),
              ElementsAre("many:etl 9 of 126", "job-20:etl 1 of 20", "job-19:etl 1 of 19"));
  EXPECT_EQ(view.holders_in_all, 21U);
  ASSERT_THAT(view.holders[0].leases, SizeIs(2));
  EXPECT_EQ(view.holders[0].leases[0].amount, 18);
  EXPECT_EQ(view.holders[0].leases[1].amount, 17);
  ASSERT_THAT(view.targets, SizeIs(1));
  EXPECT_EQ(view.targets[0].sums.holders, 21);
  EXPECT_EQ(view.targets[0].sums.leases, 29);
  EXPECT_EQ(view.targets[0].sums.amount, 210 + 126);
}

TEST_F(LeaseViewTest, ShowsThoseOfOneIdentityAndBelowItAlone) {
  TakeLease(engine_, "job:etl", 30);
  TakeLease(engine_, "b:job:etl", 20);
  TakeLease(engine_, "other-job:etl", 10);
  const auto of = [&](std::string_view identity) {
    return HoldersIn(
        ReadAll(engine_, At(), {.identity = identity, .most_holders = 9, .most_leases = 9}));
  };
  EXPECT_THAT(of("job:etl"), ElementsAre("job:etl 1 of 30", "b:job:etl 1 of 20"));
  EXPECT_THAT(of("etl"), SizeIs(3));
  EXPECT_THAT(of("tl"), IsEmpty());
}

TEST_F(LeaseViewTest, OfASubjectAreThoseThatItsAnswersAreOf) {
  const CheckAnswer lease = TakeLease(engine_, "job:etl", 30);
  TakeLease(engine_, "b:job:etl", 20);
  const LeaseQuery mine{.subject_key = lease.subject_key, .most_holders = 9};
  EXPECT_THAT(HoldersIn(ReadAll(engine_, At(), mine)), ElementsAre("job:etl 1 of 30"));
}

TEST_F(LeaseViewTest, AfterAPolicyHasTakenTheBudgetAwayTheAmountIsKnownStill) {
  TakeLease(engine_, "job:etl", 30);
  engine_.Install(OneBudget(RateBudget("another", 10, 1000)));
  const LeasesView view = ReadAll(engine_);
  EXPECT_THAT(HoldersIn(view), ElementsAre("job:etl 1 of 30"));
  EXPECT_THAT(view.holders[0].charges, IsEmpty());
}

TEST_F(LeaseViewTest, AfterARestartTheyAreThereButNobodyKnowsWhose) {
  const CheckAnswer lease = TakeLease(engine_, "job:etl", 30, At(), absl::Seconds(10));
  TakeLease(engine_, "other:etl", 5, At(), absl::Milliseconds(100));
  const Now saved_at = At(absl::Seconds(2)), now = At(absl::Seconds(3));
  SavedState state;
  engine_->Save(saved_at, state);
  ASSERT_TRUE(Validate(state).ok());
  Engine next(TestEngine::Options());
  ASSERT_TRUE(next.Restore(state, now, absl::ToInt64Nanoseconds(absl::Seconds(1))).ok());
  ASSERT_TRUE(next.Install(OneBudget(RateBudget("b", 10, 1000)), now).ok());
  LeasesView view = next.ReadLeases(kAllLeases, now);
  ASSERT_THAT(HoldersIn(view), ElementsAre("? 1 of 30, 1 overdue"));
  EXPECT_EQ(view.holders[0].latest_end, absl::Seconds(7));
  ASSERT_THAT(view.holders[0].charges, SizeIs(1));
  EXPECT_NEAR(view.holders[0].charges[0].cost, 30, 1e-6);
  EXPECT_EQ(view.holders[0].leases.at(0).granted_ago, absl::Seconds(3));
  // Returned with the next one, as it would have been.
  ASSERT_TRUE(
      next.Report(lease.permit, {.spent = ActualCost::Spent{.estimate = 1, .pieces = 1}}, now)
          .ok());
  view = next.ReadLeases(kAllLeases, now);
  EXPECT_THAT(HoldersIn(view), ElementsAre("? 0 of 0, 1 overdue"));
}

TEST_F(LeaseViewTest, AStateInWhichAPermitTeachesMoreThanThereIsIsRefused) {
  TakeLease(engine_, "job:etl", 30);
  SavedState state;
  engine_->Save(At(), state);
  ASSERT_THAT(state.permits, SizeIs(1));
  EXPECT_EQ(state.permits[0].teaches, kTeachesCost | kTeachesPieces);
  state.permits[0].teaches = kTeachesAll + 1;
  EXPECT_TRUE(absl::IsInvalidArgument(Validate(state)));
}

class LeasesOnTwoTargets : public testing::Test {
 protected:
  static PolicySpec OnTwo() {
    PolicySpec policy = OneBudget(RateBudget("b", 10, 1000));
    policy.targets.resize(2);
    policy.targets[0].name = "orders";
    policy.targets[1].name = "billing";
    return policy;
  }
  static void LeaseOn(const char* target, TestEngine& engine, double amount) {
    const LeaseTerms terms{.least = 1, .life = absl::Seconds(10)};
    CheckRequest request = Request("job:etl", amount);
    request.target = target;
    request.lease = &terms;
    ASSERT_NE(engine.Check(request).permit, 0);
  }

  TestEngine engine_{OnTwo()};
};

TEST_F(LeasesOnTwoTargets, AreCountedForEachByItself) {
  LeaseOn("orders", engine_, 30);
  LeaseOn("billing", engine_, 20);
  LeasesView view = ReadAll(engine_);
  ASSERT_THAT(view.targets, SizeIs(2));
  EXPECT_EQ(view.targets[0].target, "orders");
  EXPECT_EQ(view.targets[0].sums.amount, 30);
  EXPECT_EQ(view.targets[1].sums.amount, 20);
  EXPECT_THAT(view.holders, SizeIs(2));
  view = ReadAll(engine_, At(), {.target = "billing", .most_holders = 9});
  EXPECT_THAT(HoldersIn(view), ElementsAre("job:etl 1 of 20"));
  view = ReadAll(engine_, At(), {.not_on = {"billing"}, .most_holders = 9});
  EXPECT_THAT(HoldersIn(view), ElementsAre("job:etl 1 of 30"));
  EXPECT_THAT(view.targets, SizeIs(1));
}

TEST_F(LeasesOnTwoTargets, GoWithTheirTargetToItsNextOwner) {
  LeaseOn("orders", engine_, 30);
  const auto saved = std::move(engine_->SaveTargets({"orders"}, At(absl::Seconds(1))).front());
  ASSERT_TRUE(saved.ok());
  ASSERT_TRUE(Validate(*saved).ok());
  EngineOptions options = TestEngine::Options();
  options.permit_seed = 2;
  TestEngine next(OnTwo(), options);
  const Now there = At(absl::Hours(5));
  ASSERT_TRUE(next->AdoptTarget("orders", &*saved, Engine::Unsaved::kNothing, there).ok());
  const LeasesView view = ReadAll(next, there);
  ASSERT_THAT(HoldersIn(view), ElementsAre("? 1 of 30"));
  EXPECT_EQ(view.holders[0].target, "orders");
  EXPECT_EQ(view.holders[0].latest_end, absl::Seconds(9));
  ASSERT_THAT(view.holders[0].charges, SizeIs(1));
  EXPECT_NEAR(view.holders[0].charges[0].cost, 30, 1e-6);
  // And on to a third one.
  const auto again = std::move(next->SaveTargets({"orders"}, there + absl::Seconds(1)).front());
  options.permit_seed = 3;
  TestEngine third(OnTwo(), options);
  ASSERT_TRUE(third->AdoptTarget("orders", &*again, Engine::Unsaved::kNothing, At()).ok());
  EXPECT_EQ(ReadAll(third).holders.at(0).latest_end, absl::Seconds(8));
}

TEST_F(LeasesOnTwoTargets, ThatComeBackAreThoseOfTheNewOwnerAlone) {
  LeaseOn("orders", engine_, 30);
  ASSERT_TRUE(engine_->AdoptTarget("orders", nullptr, Engine::Unsaved::kNothing, At()).ok());
  EXPECT_THAT(ReadAll(engine_).holders, IsEmpty());
}

// Every lease that was out before and after a look is in it, once, and each by its own name.
TEST_F(LeaseViewTest, WhatIsOutAllTheTimeIsReadWhileOthersComeAndGo) {
  EngineOptions options = TestEngine::Options();
  options.max_permits = 16384;  // more than are left lying
  TestEngine engine(OneBudget(RateBudget("b", 1, 1e9)), options);
  for (int i = 0; i < 10; ++i) TakeLease(engine, absl::StrCat("stays-", i, ":etl"), 1000 + i);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    do {
      const LeasesView view = ReadAll(engine);
      int64_t stay = 0;
      for (const LeaseHolderView& holder : view.holders) {
        if (holder.sums.amount < 1000) {
          EXPECT_THAT(holder.identity, testing::AnyOf(testing::StartsWith("goes-"), IsEmpty()));
          continue;
        }
        ++stay;
        EXPECT_EQ(holder.identity,
                  absl::StrCat("stays-", static_cast<int>(holder.sums.amount) - 1000, ":etl"));
      }
      EXPECT_EQ(stay, 10);
      // relaxed: nothing else is told by it.
    } while (!done.load(std::memory_order_relaxed));
  });
  std::vector<std::thread> holders;
  for (int thread = 0; thread < 2; ++thread) {
    holders.emplace_back([&engine, identity = absl::StrCat("goes-", thread, ":etl")] {
      for (int i = 0; i < 2000; ++i) {
        const CheckAnswer lease = TakeLease(engine, identity, 1);
        // Some stay out; their sum is below what one that stays has.
        if (i % 8 != 0) ReturnLease(engine, lease);
        engine.Admits("job:etl", 1);
      }
    });
  }
  for (std::thread& holder : holders) holder.join();
  done.store(true, std::memory_order_relaxed);
  reader.join();
}

TEST(LeaseNames, AreKnownWhileTheirLeasesRun) {
  LeaseNames names;
  names.Note(1, "job:etl", 100, 0);
  names.Note(1, "job:etl", 50, 0);
  EXPECT_EQ(names.Find(1), "job:etl");
  EXPECT_EQ(names.Find(3), "");
}

TEST(LeaseNames, OfWhomIsDoneMakeRoomForOthersAndNoOthers) {
  LeaseNames names;
  constexpr uint64_t kMost = LeaseNames::kStripes * LeaseNames::kMostOfStripe;
  for (uint64_t i = 0; i < kMost; ++i) names.Note(2 * i + 1, absl::StrCat(i), 100 + (i < 16), 0);
  const uint64_t newcomer = 2 * kMost + 1;  // in the stripe of the first
  names.Note(newcomer, "newcomer", 200, 99);
  EXPECT_EQ(names.Find(newcomer), "");
  EXPECT_EQ(names.Find(1), "0");
  names.Note(newcomer, "newcomer", 200, 100);
  EXPECT_EQ(names.Find(newcomer), "newcomer");
  EXPECT_EQ(names.Find(1), "0");
  EXPECT_EQ(names.Find(2 * 16 + 1), "");
}

}  // namespace
}  // namespace headgate::engine
