// What a holder of leases decides: pieces, asks, sizes and what it gives back.

#include "client/lease_holder.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::client::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;

class LeaseHolderTest : public ::testing::Test {
 protected:
  LeaseHolderTest() { options_.identity = "job:etl"; }

  LeaseHolder& holder() {
    if (!holder_.has_value()) holder_.emplace(options_, jitter_);
    return *holder_;
  }
  CheckRequest Asked() {
    std::optional<CheckRequest> ask = holder().NextAsk(now_);
    EXPECT_TRUE(ask.has_value());
    return ask.value_or(CheckRequest{});
  }
  bool Asks() { return holder().NextAsk(now_).has_value(); }
  void Grant(double amount, absl::Duration time = absl::Seconds(1)) {
    GrantWith({.amount = amount, .time = time});
  }
  void GrantWith(const GrantedLease& lease) {
    Answer answer{.verdict = Verdict::kAllowed, .predicted_cost = 2 * lease.amount, .lease = lease};
    answer.permit_id = ++permit_;
    holder().OnAnswer(answer, now_);
  }
  void Deny(std::optional<absl::Duration> retry_after, Reason reason = Reason::kCapacity) {
    Answer answer{.reason = reason, .retry_after = retry_after};
    answer.violations.push_back({.budget = "b",
                                 .rule = "charge",
                                 .limit_kind = LimitKind::kBurst,
                                 .retry_after = retry_after});
    holder().OnAnswer(answer, now_);
  }
  bool Admits(double cost = 1) { return holder().Admit(cost, now_).admitted; }
  Admission Refused(double cost = 1) {
    const Admission admission = holder().Admit(cost, now_);
    EXPECT_FALSE(admission.admitted);
    return admission;
  }
  // Held for `amount`, asked for and granted.
  void Hold(double amount, absl::Duration time = absl::Seconds(1)) {
    Asked();
    Grant(amount, time);
  }

  LeaseOptions options_;
  int64_t now_ = 1000 * kSecond;

 private:
  Jitter jitter_{7};
  std::optional<LeaseHolder> holder_;
  uint64_t permit_ = 0;
};

TEST_F(LeaseHolderTest, AsksAtOnceForAFewPieces) {
  const CheckRequest ask = Asked();
  EXPECT_EQ(ask.identity, "job:etl");
  EXPECT_EQ(ask.lease->least, 1);
  EXPECT_EQ(*ask.estimated_cost, 10);
  EXPECT_EQ(ask.lease->time, absl::Seconds(1));
  EXPECT_FALSE(ask.lease->returned.has_value());
  EXPECT_FALSE(Asks()) << "one is under way";
}

TEST_F(LeaseHolderTest, SpendsWhatItWasGrantedAndNoMore) {
  Hold(3);
  EXPECT_TRUE(Admits(2));
  EXPECT_TRUE(Admits(1));
  const Admission refused = Refused();
  EXPECT_EQ(refused.reason, Reason::kCapacity);
  EXPECT_EQ(refused.retry_after, absl::Milliseconds(5));
  EXPECT_EQ(holder().stats(now_).admitted, 2);
  EXPECT_EQ(holder().stats(now_).refused, 1);
}

TEST_F(LeaseHolderTest, NoPieceBeginsWhenTheTimeIsOverThatCountsFromTheAsk) {
  Asked();
  now_ += 300 * kMs;
  Grant(10);
  now_ += 699 * kMs;
  EXPECT_TRUE(Admits());
  now_ += kMs;
  EXPECT_FALSE(Admits());
}

TEST_F(LeaseHolderTest, TheTimeInLineIsNoneOfTheLeases) {
  Asked();
  now_ += 900 * kMs;
  Answer answer{.verdict = Verdict::kAllowed, .predicted_cost = 10};
  answer.waited = absl::Milliseconds(800);
  answer.lease = GrantedLease{.amount = 10, .time = absl::Seconds(1)};
  holder().OnAnswer(answer, now_);
  now_ += 899 * kMs;
  EXPECT_TRUE(Admits());
  now_ += kMs;
  EXPECT_FALSE(Admits());
}

TEST_F(LeaseHolderTest, AsksForTheNextWhenHalfOfTheAmountIsUsed) {
  Hold(10);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Admits());
  EXPECT_FALSE(Asks());
  EXPECT_TRUE(Admits());
  EXPECT_EQ(holder().NextLook(now_), 0);
  EXPECT_TRUE(Asks());
}

TEST_F(LeaseHolderTest, AsksForTheNextWhenHalfOfTheTimeIsOver) {
  Hold(10);
  EXPECT_TRUE(Admits());
  EXPECT_EQ(holder().NextLook(now_), now_ + 500 * kMs);
  now_ += 499 * kMs;
  EXPECT_FALSE(Asks());
  now_ += kMs;
  EXPECT_TRUE(Asks());
}

TEST_F(LeaseHolderTest, GoesOnWithTheNextAndGivesTheOldOneBack) {
  Hold(10);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Admits(1.5));
  Asked();
  Grant(20);
  EXPECT_TRUE(Admits(1.5));
  EXPECT_TRUE(Admits(3)) << "of the next: one is left of the first";
  const std::vector<PermitReport> returns = holder().TakeReturns();
  ASSERT_THAT(returns, SizeIs(1));
  EXPECT_EQ(returns[0].permit_id, 1);
  EXPECT_EQ(returns[0].lease_use->spent, 9);
  EXPECT_EQ(returns[0].lease_use->pieces, 6);
  EXPECT_EQ(returns[0].lease_use->identity, "job:etl");
  ASSERT_THAT(returns[0].lease_use->counts, SizeIs(1));
  EXPECT_EQ(returns[0].lease_use->counts[0].verdict, Verdict::kAllowed);
  EXPECT_EQ(returns[0].lease_use->counts[0].pieces, 6);
  EXPECT_EQ(returns[0].lease_use->counts[0].cost, 18) << "as predicted";
  EXPECT_FALSE(returns[0].done.actual_cost.has_value());
  EXPECT_EQ(holder().stats(now_).held, 17);
}

TEST_F(LeaseHolderTest, ReturnsWithTheNextAskWhereItIsOver) {
  Hold(10);
  EXPECT_TRUE(Admits(4));
  now_ += kSecond;
  const CheckRequest ask = Asked();
  ASSERT_TRUE(ask.lease->returned.has_value());
  EXPECT_EQ(ask.lease->returned->lease_use->spent, 4);
  EXPECT_THAT(holder().TakeReturns(), IsEmpty());
}

TEST_F(LeaseHolderTest, OfWhichNothingWasUsedGoesBackAndNoneIsAskedForUntilThereIsWork) {
  Hold(10);
  now_ += kSecond;
  EXPECT_FALSE(Asks());
  const std::vector<PermitReport> returns = holder().TakeReturns();
  ASSERT_THAT(returns, SizeIs(1));
  EXPECT_EQ(returns[0].lease_use->spent, 0);
  EXPECT_THAT(returns[0].lease_use->counts, IsEmpty());
  EXPECT_FALSE(Admits());
  EXPECT_TRUE(Asks());
}

TEST_F(LeaseHolderTest, AsksForHalfAsMuchAgainAsItUses) {
  Hold(1000);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Admits());
  now_ += 500 * kMs;
  // 200 a second; 900 are left.
  EXPECT_EQ(*Asked().estimated_cost, 1) << "one piece in any case";
  Grant(1);
  now_ += 500 * kMs;
  EXPECT_TRUE(Admits());
}

TEST_F(LeaseHolderTest, AsksForTwiceAsMuchWhenItRanOut) {
  Hold(10);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Admits());
  Refused();
  EXPECT_EQ(*Asked().estimated_cost, 20);
  Grant(12);
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(Admits());
  Refused();
  now_ += 100 * kMs;
  // 22 in 100 ms. To ask for more than there was room for gives no more.
  EXPECT_NEAR(*Asked().estimated_cost, 330, 1e-9);
}

// Each of its leases is over before it has work again, and none has run out.
TEST_F(LeaseHolderTest, DoesNotAskForMoreAndMoreWhileItHasLittleToDo) {
  options_.piece = 1;
  for (int i = 0; i < 20; ++i) {
    Refused();
    const CheckRequest ask = Asked();
    EXPECT_LE(*ask.estimated_cost, 10) << i;
    Grant(*ask.estimated_cost);
    EXPECT_TRUE(Admits());
    now_ += 1500 * kMs;
  }
}

TEST_F(LeaseHolderTest, AsksForTheLargestPieceThatFoundNoRoom) {
  Hold(10);
  Refused(70);
  Refused(50);
  EXPECT_EQ(Asked().lease->least, 70);
  Grant(70);
  EXPECT_TRUE(Admits(70));
}

TEST_F(LeaseHolderTest, TellsWhoIsRefusedWhatDeniedTheLeaseAndAsksWhenItMay) {
  Asked();
  Deny(absl::Milliseconds(400));
  now_ += 100 * kMs;
  const Admission refused = Refused();
  EXPECT_EQ(refused.reason, Reason::kCapacity);
  EXPECT_EQ(refused.retry_after, absl::Milliseconds(300));
  EXPECT_FALSE(Asks());
  now_ += 300 * kMs;
  const CheckRequest ask = Asked();
  EXPECT_FALSE(ask.lease->returned.has_value()) << "nothing is held";
  Grant(10);
  holder().Close();
  const std::vector<PermitReport> returns = holder().TakeReturns();
  ASSERT_THAT(returns, SizeIs(1));
  ASSERT_THAT(returns[0].lease_use->counts, SizeIs(1));
  const PieceCount& count = returns[0].lease_use->counts[0];
  EXPECT_EQ(count.verdict, Verdict::kDenied);
  EXPECT_EQ(count.reason, Reason::kCapacity);
  EXPECT_EQ(count.limit_kind, LimitKind::kBurst);
  EXPECT_EQ(count.budget, "b");
  EXPECT_EQ(count.rule, "charge");
  EXPECT_EQ(count.pieces, 1);
}

TEST_F(LeaseHolderTest, AsksEarlierForASmallerPieceThanWasDenied) {
  options_.piece = 70;
  Asked();
  Deny(absl::Seconds(5));
  EXPECT_FALSE(Asks());
  Refused(2);
  EXPECT_EQ(Asked().lease->least, 2);
}

TEST_F(LeaseHolderTest, WaitsForAPartOfItsUseAndPiecesAreRefusedMeanwhileAsItWas) {
  const auto spend_in_half_a_second = [this] {
    for (int i = 0; i < 50; ++i) {
      now_ += 10 * kMs;
      EXPECT_TRUE(Admits(10));
    }
  };
  Hold(1000);
  spend_in_half_a_second();
  EXPECT_EQ(Asked().lease->least, 1) << "the use is not known yet";
  Grant(1100);
  spend_in_half_a_second();
  for (int i = 0; i < 49; ++i) {
    now_ += 10 * kMs;
    EXPECT_TRUE(Admits(10));
  }
  EXPECT_NEAR(Asked().lease->least, 50, 1);
  Deny(absl::Seconds(1));
  now_ += 500 * kMs;
  EXPECT_EQ(Refused(10).retry_after, absl::Milliseconds(500));
  EXPECT_FALSE(Asks()) << "there is no room for a piece either";
}

TEST_F(LeaseHolderTest, WhatIsDeniedForGoodHasNoTimeToComeBack) {
  Asked();
  Deny(std::nullopt, Reason::kDenyRule);
  EXPECT_FALSE(Refused().retry_after.has_value());
  EXPECT_FALSE(Asks());
  now_ += kSecond;  // rules change
  EXPECT_TRUE(Asks());
}

TEST_F(LeaseHolderTest, RefusesItsShareByChance) {
  Asked();
  GrantWith({.amount = 1e6, .time = absl::Seconds(10), .reject_ratio = 0.25});
  int rejected = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Admission admission = holder().Admit(1, now_);
    if (admission.admitted) continue;
    EXPECT_EQ(admission.reason, Reason::kRejectRatio);
    ++rejected;
  }
  EXPECT_NEAR(rejected, 2500, 200);
}

TEST_F(LeaseHolderTest, LetsOnePieceAtATimeWhereItHasOnePlace) {
  Asked();
  GrantWith({.amount = 10, .time = absl::Seconds(1), .one_at_a_time = true});
  EXPECT_TRUE(Admits());
  EXPECT_EQ(Refused().reason, Reason::kMaxConcurrency);
  EXPECT_FALSE(Asks()) << "the place is taken by itself";
  holder().Settle(1, {});
  EXPECT_TRUE(Admits(9));
  Refused();
  EXPECT_FALSE(Asks());
  holder().Settle(9, {});
  Refused();
  const CheckRequest ask = Asked();
  EXPECT_EQ(ask.lease->returned->lease_use->spent, 10);
}

TEST_F(LeaseHolderTest, LeavesWhatIsRefundedBeyondOneLeaseToTheNext) {
  Hold(100);
  EXPECT_TRUE(Admits(10));
  EXPECT_TRUE(Admits(20));
  now_ += kSecond;
  Asked();
  Grant(100);
  EXPECT_TRUE(Admits(5));
  holder().Settle(30, {.actual_cost = 0});
  EXPECT_TRUE(Admits(40));
  now_ += 500 * kMs;
  Asked();
  Grant(100);
  EXPECT_TRUE(Admits(60));
  holder().Close();
  const std::vector<PermitReport> returns = holder().TakeReturns();
  ASSERT_THAT(returns, SizeIs(2));
  EXPECT_EQ(returns[0].done.actual_cost, 30) << "45 of 2 each, and 60 less";
  EXPECT_FALSE(returns[1].done.actual_cost.has_value());
}

TEST_F(LeaseHolderTest, TellsRefusalsWithinTheTimeOfALeaseWhateverItsAskDoes) {
  Hold(10);
  EXPECT_TRUE(Admits(10));
  Refused(3);
  EXPECT_TRUE(Asked().lease->returned == std::nullopt);
  now_ += kSecond;  // it stands in line for long
  holder().RetireOver(now_);
  EXPECT_THAT(holder().TakeReturns(), SizeIs(1)) << "the lease";
  now_ += kSecond - 1;
  holder().RetireOver(now_);
  EXPECT_THAT(holder().TakeReturns(), IsEmpty());
  now_ += 1;
  holder().RetireOver(now_);
  const std::vector<PermitReport> told = holder().TakeReturns();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].permit_id, 0);
  EXPECT_NE(told[0].lease_use->id, 0);
  EXPECT_EQ(told[0].lease_use->counts[0].reason, Reason::kCapacity);
  EXPECT_EQ(told[0].lease_use->counts[0].cost, 6);
}

TEST_F(LeaseHolderTest, IsAloneWhenWhatItHeldIsOverAndNobodyAnswers) {
  Hold(10);
  EXPECT_TRUE(Admits(6));
  Asked();
  holder().OnError(absl::UnavailableError("gone"), true, now_);
  EXPECT_FALSE(holder().IsAlone(now_));
  EXPECT_TRUE(Admits(1));
  now_ += kSecond;
  EXPECT_TRUE(holder().IsAlone(now_));
  holder().CountAlone(1, true);
  now_ += 2 * kSecond;
  Asked();
  Grant(10);
  EXPECT_FALSE(holder().IsAlone(now_));
  EXPECT_EQ(holder().stats(now_).local, 1);
}

TEST_F(LeaseHolderTest, TellsTheErrorOfTheServerAndAsksAgainForWhoComesAgain) {
  Asked();
  holder().OnError(absl::PermissionDeniedError("no such right"), false, now_);
  now_ += 3600 * kSecond;
  EXPECT_FALSE(Asks());
  EXPECT_TRUE(absl::IsPermissionDenied(Refused().error));
  EXPECT_EQ(holder().stats(now_).refused, 0) << "nobody has refused it";
  Asked();
  Grant(10);
  EXPECT_TRUE(Admits());
}

TEST_F(LeaseHolderTest, CountsAPieceThatWaitsOnlyWhenItGivesUp) {
  Hold(1);
  EXPECT_TRUE(Admits());
  EXPECT_FALSE(holder().Admit(1, now_, LeaseHolder::Refusal::kWaits).admitted);
  EXPECT_EQ(holder().stats(now_).refused, 0);
  EXPECT_FALSE(Admits());
  EXPECT_EQ(holder().stats(now_).refused, 1);
}

TEST_F(LeaseHolderTest, WhoseClockJumpsSpendsNoMoreThanItWasGranted) {
  Hold(10);
  EXPECT_TRUE(Admits(4));
  now_ -= 3600 * kSecond;
  EXPECT_TRUE(Admits(6));
  EXPECT_FALSE(Admits());
  now_ += 7200 * kSecond;
  EXPECT_FALSE(Admits());
  const CheckRequest ask = Asked();
  ASSERT_TRUE(ask.lease->returned.has_value());
  EXPECT_EQ(ask.lease->returned->lease_use->spent, 10);
}

TEST_F(LeaseHolderTest, RefusesAllWhenItIsClosed) {
  Hold(10);
  holder().Close();
  EXPECT_TRUE(absl::IsCancelled(Refused().error));
  EXPECT_FALSE(Asks());
}

class SafeRateTest : public LeaseHolderTest {
 protected:
  // Of 10 a second, and held from now on for a second.
  void HoldSafely(double amount = 5) {
    Asked();
    GrantWith({.amount = amount,
               .time = absl::Seconds(1),
               .safe_rate = 10,
               .safe_time = absl::Seconds(3)});
  }
  void Fail() { holder().OnError(absl::UnavailableError("gone"), true, now_); }
  // Nobody answers what is asked at half of the lease's time, and its time is over.
  void LoseTheServer() {
    EXPECT_TRUE(Admits());
    now_ += 600 * kMs;
    Asked();
    Fail();
    now_ += 400 * kMs;
  }
  int AdmitsIn(int64_t ms) {
    int admitted = 0;
    for (const int64_t end_ns = now_ + ms * kMs; now_ < end_ns; now_ += kMs) {
      admitted += holder().IsAlone(now_) || !Admits() ? 0 : 1;
    }
    return admitted;
  }
};

TEST_F(SafeRateTest, IsAskedForByWhatWasSpent) {
  const CheckRequest first = Asked();
  EXPECT_EQ(first.lease->safe_rate, 10) << "as much as is asked for";
  EXPECT_EQ(first.lease->safe_time, absl::Seconds(10));
  Grant(20);
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(Admits());
  now_ += 500 * kMs;
  EXPECT_NEAR(Asked().lease->safe_rate, 30, 0.1);
}

TEST_F(SafeRateTest, IsNotAskedForWithoutATime) {
  options_.safe_time = absl::ZeroDuration();
  EXPECT_EQ(Asked().lease->safe_rate, 0);
}

TEST_F(SafeRateTest, AdmitsFromAQuarterOfTheTimeAfterTheEndOn) {
  HoldSafely();
  LoseTheServer();
  EXPECT_EQ(AdmitsIn(250 + 99), 0);
  EXPECT_FALSE(holder().IsAlone(now_));
  EXPECT_EQ(AdmitsIn(1001), 10);
  EXPECT_EQ(holder().stats(now_).safe, 10);
}

TEST_F(SafeRateTest, EndsWithItsTimeWhereThePolicyDecides) {
  HoldSafely();
  LoseTheServer();
  EXPECT_NEAR(AdmitsIn(3000), 27, 1);
  EXPECT_TRUE(holder().IsAlone(now_));
}

TEST_F(SafeRateTest, SaysWhenAPieceWillFit) {
  HoldSafely();
  LoseTheServer();
  EXPECT_EQ(Refused().retry_after, absl::Milliseconds(350));
  EXPECT_EQ(Refused(100).retry_after, absl::Milliseconds(3000)) << "then the policy decides";
}

TEST_F(SafeRateTest, DoesNotMakeUpForMoreThanALeasesTime) {
  HoldSafely();
  LoseTheServer();
  now_ += 2500 * kMs;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Admits());
  EXPECT_FALSE(Admits());
}

TEST_F(SafeRateTest, KeepsItsLeaseUntilSomebodyAnswers) {
  HoldSafely();
  LoseTheServer();
  AdmitsIn(1251);
  const CheckRequest ask = Asked();
  EXPECT_EQ(ask.lease->returned.value_or(PermitReport()).permit_id, 0)
      << "it may arrive though no answer does: only what was refused is told";
  EXPECT_EQ(ask.max_wait, absl::ZeroDuration());
  EXPECT_THAT(holder().TakeReturns(), IsEmpty());
  Grant(20);
  const std::vector<PermitReport> returned = holder().TakeReturns();
  ASSERT_THAT(returned, SizeIs(1));
  EXPECT_EQ(returned[0].permit_id, 1);
  EXPECT_EQ(returned[0].lease_use->spent, 1);
  EXPECT_EQ(returned[0].lease_use->safe_spent, 10);
  EXPECT_EQ(returned[0].lease_use->pieces, 11);
  ASSERT_THAT(returned[0].lease_use->counts, ::testing::Not(IsEmpty()));
  EXPECT_EQ(returned[0].lease_use->counts.back().pieces, 11);
}

TEST_F(SafeRateTest, IsGivenBackByADenialTooAndWhenItIsClosed) {
  HoldSafely();
  LoseTheServer();
  Asked();
  Deny(absl::Seconds(1));
  EXPECT_THAT(holder().TakeReturns(), SizeIs(1));
  EXPECT_EQ(AdmitsIn(2000), 0);
}

TEST_F(SafeRateTest, IsGivenBackWhenItIsClosed) {
  HoldSafely();
  LoseTheServer();
  AdmitsIn(500);
  holder().Close();
  const std::vector<PermitReport> returned = holder().TakeReturns();
  ASSERT_THAT(returned, SizeIs(1));
  EXPECT_EQ(returned[0].lease_use->safe_spent, 2);
}

TEST_F(SafeRateTest, IsGivenBackWhenAnOrderTakesItsLeaseBack) {
  HoldSafely();
  LoseTheServer();
  AdmitsIn(500);
  holder().OnState(7, now_);
  EXPECT_THAT(holder().TakeReturns(), SizeIs(1));
  EXPECT_EQ(AdmitsIn(1000), 0);
}

TEST_F(SafeRateTest, IsNotKeptOfALeaseThatAnOrderTakesBack) {
  HoldSafely();
  EXPECT_TRUE(Admits());
  now_ += 600 * kMs;
  Asked();
  holder().OnState(7, now_);
  EXPECT_THAT(holder().TakeReturns(), SizeIs(1));
}

TEST_F(SafeRateTest, IsGivenBackWhenItsTimeIsOver) {
  HoldSafely();
  LoseTheServer();
  now_ += 3000 * kMs;
  holder().RetireOver(now_);
  EXPECT_THAT(holder().TakeReturns(), SizeIs(1));
}

// Who stands in line until its lease is over, and is denied, has been heard of.
TEST_F(SafeRateTest, IsNotKeptWhereTheServerAnswers) {
  HoldSafely(1);
  holder().AddWaiter(1);
  EXPECT_TRUE(Admits());
  const CheckRequest ask = Asked();
  EXPECT_EQ(ask.max_wait, absl::Seconds(1)) << "no longer than the lease";
  now_ += kSecond;
  Answer denial{.reason = Reason::kCapacity, .retry_after = absl::Milliseconds(100)};
  denial.waited = absl::Seconds(1);
  holder().OnAnswer(denial, now_);
  EXPECT_EQ(Asked().max_wait, absl::InfiniteDuration());
}

}  // namespace
}  // namespace headgate::client::internal
