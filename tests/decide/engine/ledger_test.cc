#include "server/decide/engine/ledger.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {
namespace {

constexpr int64_t kNoBurst = std::numeric_limits<int64_t>::max();
constexpr uint64_t kTag = Ledger::kSingleTag;
using Place = Ledger::Place;

RefundOrders orders(1024);

// A clock that shows the real time, so that numbers stay legible.
std::shared_ptr<VirtualClock> RealTime() { return std::make_shared<VirtualClock>(0); }

std::unique_ptr<Ledger> Whole(double ns_per_unit = 1, uint64_t version = 1) {
  return std::make_unique<Ledger>(Ledger::Axis{.clock = RealTime(), .ns_per_unit = ns_per_unit},
                                  Ledger::Layout{.version = version}, orders);
}
std::unique_ptr<Ledger> Split(std::string by, double ns_per_unit = 1, uint64_t version = 1) {
  return std::make_unique<Ledger>(
      Ledger::Axis{.clock = RealTime(), .ns_per_unit = ns_per_unit},
      Ledger::Layout{.buckets = 64, .split = std::move(by), .version = version}, orders);
}

Ledger::Charged ChargeIt(Ledger& ledger, int64_t now, int64_t cost, uint64_t tag = kTag) {
  const ChargeResult result = ledger.Charge(tag, now, cost, kNoBurst);
  EXPECT_EQ(result.outcome, ChargeOutcome::kCharged);
  return {.tag = tag, .ended_at_ns = result.empties_at, .refunded_ns = result.refunded_ns};
}

TEST(Ledger, RoundsCostsUp) {
  EXPECT_EQ(Ledger::ToNs(0, 10), 0);
  EXPECT_EQ(Ledger::ToNs(2, 10), 20);
  EXPECT_EQ(Ledger::ToNs(2.01, 10), 21);
  EXPECT_EQ(Ledger::ToNs(1e-300, 10), 1);
  EXPECT_EQ(Ledger::ToNs(1e-300, 1e-6), 1);
}

TEST(Ledger, SaturatesCosts) {
  EXPECT_EQ(Ledger::ToNs(1e15, 1e18), Ledger::kMaxSpanNs + 1);
  EXPECT_EQ(Ledger::ToNs(std::numeric_limits<double>::infinity(), 1), Ledger::kMaxSpanNs + 1);
  EXPECT_EQ(Ledger::ToNs(std::numeric_limits<double>::quiet_NaN(), 1), Ledger::kMaxSpanNs + 1);
}

TEST(Ledger, RefundTakesBackTheDifference) {
  const auto ledger = Whole();
  const Ledger::Charged charged = ChargeIt(*ledger, 0, 100);
  EXPECT_EQ(ledger->Refund(charged, 100, 30, 10), 30);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 10), 70);
}

TEST(Ledger, RefundTakesOnlyTheUndrainedPart) {
  const auto ledger = Whole();
  const Ledger::Charged charged = ChargeIt(*ledger, 0, 100);
  EXPECT_EQ(ledger->Refund(charged, 100, 30, 80), 20);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 80), 80);
}

TEST(Ledger, RefundAfterTheDebtDrainedTakesNothingFromALaterCharge) {
  const auto ledger = Whole();
  const Ledger::Charged charged = ChargeIt(*ledger, 0, 100);
  ChargeIt(*ledger, 200, 50);
  EXPECT_EQ(ledger->Refund(charged, 100, 100, 200), 0);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 200), 250);
}

TEST(Ledger, RefundLeavesWhatStandsBehind) {
  const auto ledger = Whole();
  const Ledger::Charged first = ChargeIt(*ledger, 0, 100);
  ChargeIt(*ledger, 0, 50);
  EXPECT_EQ(ledger->Refund(first, 100, 100, 60), 40);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 60), 110);
}

TEST(Ledger, ChargeThatHasNotBegunToDrainIsRefundedWhole) {
  const auto ledger = Whole();
  ChargeIt(*ledger, 0, 100);
  const Ledger::Charged second = ChargeIt(*ledger, 0, 50);
  EXPECT_EQ(ledger->Refund(second, 50, 50, 90), 50);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 90), 100);
}

TEST(Ledger, RefundInFrontMovesLaterChargesForward) {
  const auto ledger = Whole();
  const Ledger::Charged first = ChargeIt(*ledger, 0, 100);
  const Ledger::Charged second = ChargeIt(*ledger, 0, 50);  // ends at 150
  EXPECT_EQ(ledger->Refund(first, 100, 80, 10), 80);        // the second ends at 70 now
  EXPECT_EQ(ledger->Refund(second, 50, 50, 60), 10);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 60), 60);
}

TEST(Ledger, RefundsNeverTakeMoreThanIsOwed) {
  const auto ledger = Whole();
  const Ledger::Charged first = ChargeIt(*ledger, 0, 100);
  const Ledger::Charged second = ChargeIt(*ledger, 0, 100);
  const int64_t taken =
      ledger->Refund(second, 100, 100, 150) + ledger->Refund(first, 100, 100, 150);
  EXPECT_LE(taken, 50);
}

TEST(Ledger, RefundBehindLeavesChargesInFrontWhereTheyAre) {
  const auto ledger = Whole();
  const Ledger::Charged first = ChargeIt(*ledger, 0, 100);
  const Ledger::Charged second = ChargeIt(*ledger, 0, 100);
  const Ledger::Charged third = ChargeIt(*ledger, 0, 100);
  EXPECT_EQ(ledger->Refund(second, 100, 90, 0), 90);  // the third ends at 210 now
  EXPECT_EQ(ledger->Refund(first, 100, 100, 60), 40);
  EXPECT_EQ(ledger->Refund(third, 100, 100, 60), 100);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 60), 70);
}

TEST(Ledger, RefundToTheLastChargeMovesNobody) {
  const auto ledger = Whole();
  ChargeIt(*ledger, 0, 100);
  EXPECT_EQ(ledger->Refund(ChargeIt(*ledger, 0, 100), 100, 90, 0), 90);
  EXPECT_EQ(ledger->Refund(ChargeIt(*ledger, 0, 100), 100, 90, 0), 90);
  EXPECT_EQ(ChargeIt(*ledger, 0, 100).refunded_ns, 0);
}

TEST(Ledger, ChargeThatDoesNotKnowItsOrderTakesAllRefundsForOnesInFront) {
  const auto ledger = Whole();
  Ledger::Charged first = ChargeIt(*ledger, 0, 100);
  const Ledger::Charged second = ChargeIt(*ledger, 0, 100);
  ChargeIt(*ledger, 0, 100);
  EXPECT_EQ(ledger->Refund(second, 100, 90, 0), 90);
  first.refunded_ns |= kOrderUnknown;
  EXPECT_EQ(ledger->Refund(first, 100, 100, 0), 10);
}

TEST(Ledger, UndoTakesAllOfAChargeBack) {
  const auto ledger = Whole();
  ChargeIt(*ledger, 0, 100);
  const Ledger::Charged second = ChargeIt(*ledger, 0, 50);
  ledger->Undo(second, 50);
  EXPECT_EQ(ledger->EmptiesAt(kTag, 0), 100);
}

TEST(Ledger, UndoOfOneInFrontMovesLaterChargesForward) {
  const auto ledger = Whole();
  const Ledger::Charged first = ChargeIt(*ledger, 0, 100);
  const Ledger::Charged second = ChargeIt(*ledger, 0, 50);
  ledger->Undo(first, 100);
  EXPECT_EQ(ledger->Refund(second, 50, 50, 30), 20);
}

TEST(Ledger, SplitLedgerHasABucketForEachTag) {
  const auto ledger = Split("depth 2");
  EXPECT_EQ(ledger->capacity(), 64U);
  ChargeIt(*ledger, 0, 100, 11);
  ChargeIt(*ledger, 0, 50, 12);
  EXPECT_EQ(ledger->EmptiesAt(11, 0), 100);
  EXPECT_EQ(ledger->EmptiesAt(12, 0), 50);
  EXPECT_LE(ledger->EmptiesAt(13, 0), 0);
}

TEST(Ledger, OwesUntilItsLastBucketIsEmpty) {
  const auto ledger = Split("depth 2");
  EXPECT_FALSE(ledger->Owes(0));
  ChargeIt(*ledger, 0, 100, 11);
  EXPECT_TRUE(ledger->Owes(99));
  EXPECT_FALSE(ledger->Owes(100));
}

TEST(LedgerMove, KeepsDebtInCostUnits) {
  const auto before = Whole(10, 1);
  const auto after = Whole(40, 2);
  ChargeIt(*before, 0, before->ToNs(7));
  before->MoveTo(*after, 20);  // 5 units are left
  EXPECT_DOUBLE_EQ(after->ToUnits(after->EmptiesAt(kTag, 20) - 20), 5);
}

TEST(LedgerMove, KeepsDebtOfEveryBucket) {
  const auto before = Split("depth 2", 10, 1);
  const auto after = Split("depth 2", 40, 2);
  ChargeIt(*before, 0, before->ToNs(7), 11);
  ChargeIt(*before, 0, before->ToNs(3), 12);
  before->MoveTo(*after, 20);
  EXPECT_DOUBLE_EQ(after->ToUnits(after->EmptiesAt(11, 20) - 20), 5);
  EXPECT_DOUBLE_EQ(after->ToUnits(after->EmptiesAt(12, 20) - 20), 1);
}

TEST(LedgerMove, ToAnotherClockTranslatesTheTimes) {
  auto slow = std::make_shared<VirtualClock>(0);
  slow->Set({.speed = 0.5}, 0);
  Ledger before({.clock = slow, .ns_per_unit = 10}, Ledger::Layout{.version = 1}, orders);
  const auto after = Whole(10, 2);
  ChargeIt(before, 0, 70);
  before.MoveTo(*after, 40);  // the slow clock shows 20
  EXPECT_EQ(after->EmptiesAt(kTag, 40), 90);
}

TEST(LedgerMove, OfADrainedDebtLeavesNone) {
  const auto before = Whole(10, 1);
  const auto after = Whole(40, 2);
  ChargeIt(*before, 0, 70);
  before->MoveTo(*after, 71);
  EXPECT_LE(after->EmptiesAt(kTag, 71), 71);
}

TEST(LedgerMove, OldLedgerSaysThatItMoved) {
  const auto before = Whole(10, 1);
  const auto after = Whole(40, 2);
  const Ledger::Charged charged = ChargeIt(*before, 0, 70);
  before->MoveTo(*after, 0);
  EXPECT_EQ(before->EmptiesAt(kTag, 0), Bucket::kMoved);
  EXPECT_EQ(before->Charge(kTag, 0, 1, kNoBurst).outcome, ChargeOutcome::kMoved);
  EXPECT_EQ(before->Refund(charged, 70, 10, 0), -1);
}

TEST(LedgerMove, ToAnotherSplitGivesEveryoneTheLargestDebt) {
  const auto before = Split("depth 2", 1, 1);
  const auto after = Split("tag table", 1, 2);
  ChargeIt(*before, 0, 30, 11);
  ChargeIt(*before, 0, 90, 12);
  before->MoveTo(*after, 10);
  for (const uint64_t tag : {11, 12, 13}) EXPECT_EQ(after->EmptiesAt(tag, 10), 90);
  EXPECT_FALSE(after->Knows(1));
  EXPECT_TRUE(after->Knows(2));
}

TEST(LedgerMove, BetweenSplitAndWholeKeepsTheLargestDebt) {
  const auto split = Split("depth 2", 1, 1);
  const auto whole = Whole(1, 2);
  ChargeIt(*split, 0, 30, 11);
  ChargeIt(*split, 0, 90, 12);
  split->MoveTo(*whole, 10);
  EXPECT_EQ(whole->EmptiesAt(kTag, 10), 90);
  const auto again = Split("depth 2", 1, 3);
  whole->MoveTo(*again, 20);
  EXPECT_EQ(again->EmptiesAt(11, 20), 90);
}

TEST(LedgerMove, ChargeOfTheSamePolicyNeedsNoTranslation) {
  const auto ledger = Whole(1, 2);
  Ledger::Charged charged = {.tag = kTag, .ended_at_ns = 50, .refunded_ns = 3};
  EXPECT_EQ(ledger->Translate(2, charged), Place::kHere);
  EXPECT_EQ(ledger->Translate(5, charged), Place::kHere);
  EXPECT_EQ(charged.ended_at_ns, 50);
}

TEST(LedgerMove, ChargeOfOneMoveBackIsTranslated) {
  const auto before = Whole(10, 1);
  const auto after = Whole(40, 2);
  Ledger::Charged charged = ChargeIt(*before, 0, 70);
  before->MoveTo(*after, 20);
  EXPECT_TRUE(after->Knows(1));
  ASSERT_EQ(after->Translate(1, charged), Place::kHere);
  EXPECT_EQ(charged.ended_at_ns, 220);
  EXPECT_EQ(after->Refund(charged, 280, 280, 100), 120);
}

TEST(LedgerMove, TranslationCountsRefundsBeforeTheMove) {
  const auto before = Whole(10, 1);
  const auto after = Whole(10, 2);
  const Ledger::Charged first = ChargeIt(*before, 0, 70);
  Ledger::Charged second = ChargeIt(*before, 0, 30);  // ends at 100
  EXPECT_EQ(before->Refund(first, 70, 50, 0), 50);    // the second ends at 50 now
  before->MoveTo(*after, 10);
  ASSERT_EQ(after->Translate(1, second), Place::kHere);
  EXPECT_EQ(after->Refund(second, 30, 30, 30), 20);
}

// Its place was reckoned in nanoseconds that have become longer, and means nothing here.
TEST(LedgerMove, RefundToAChargeFromBeforeMovesAllLaterOnes) {
  const auto before = Whole(10, 1);
  const auto after = Whole(40, 2);
  const Ledger::Charged front = ChargeIt(*before, 0, 1000);
  Ledger::Charged moved = ChargeIt(*before, 0, 1000);
  EXPECT_EQ(before->Refund(front, 1000, 1000, 0), 1000);
  before->MoveTo(*after, 0);
  const Ledger::Charged later = ChargeIt(*after, 0, 100);  // from 4000 to 4100
  ChargeIt(*after, 0, 500);
  ASSERT_EQ(after->Translate(1, moved), Place::kHere);
  EXPECT_EQ(after->Refund(moved, 4000, 3000, 0), 3000);  // to 1100
  EXPECT_EQ(after->Refund(later, 100, 100, 1050), 50);
}

TEST(LedgerMove, ChargeOfTwoMovesBackIsTranslatedTwice) {
  const auto first = Whole(10, 1);
  const auto second = Whole(40, 2);
  const auto third = Whole(20, 5);
  Ledger::Charged charged = ChargeIt(*first, 0, 70);
  first->MoveTo(*second, 20);
  Ledger::Charged later = ChargeIt(*second, 20, 80);  // from 220 to 300
  second->MoveTo(*third, 100);
  EXPECT_TRUE(third->Knows(1));
  ASSERT_EQ(third->Translate(1, charged), Place::kHere);
  EXPECT_EQ(charged.ended_at_ns, 160);
  ASSERT_EQ(third->Translate(4, later), Place::kHere);  // of the second, whatever came since
  EXPECT_EQ(later.ended_at_ns, 200);
  EXPECT_EQ(third->Refund(charged, 140, 140, 110), 50);
  EXPECT_EQ(third->Refund(later, 40, 40, 110), 40);
}

// Counted in nanoseconds that were ten times as long, and are twice as long as they were.
TEST(LedgerMove, RefundsOnAnyAxisSinceCountInTheLongestNanoseconds) {
  const auto first = Whole(10, 1);
  const auto second = Whole(100, 2);
  const auto third = Whole(20, 3);
  const Ledger::Charged front = ChargeIt(*first, 0, 100);
  Ledger::Charged charged = ChargeIt(*first, 0, 100);
  EXPECT_EQ(first->Refund(front, 100, 10, 0), 10);  // it ends at 190, which is 380 in the end
  first->MoveTo(*second, 0);
  second->MoveTo(*third, 0);
  ASSERT_EQ(third->Translate(1, charged), Place::kHere);
  EXPECT_EQ(charged.ended_at_ns, 400);
  EXPECT_EQ(third->Refund(charged, 200, 200, 370), 10);
}

TEST(LedgerMove, MovesAreForgottenWhenAllThatWasOwedHasDrained) {
  auto ledger = Whole(10, 1);
  Ledger::Charged charged = ChargeIt(*ledger, 0, 70);
  for (uint64_t version = 2; version < 1000; ++version) {
    auto next = Whole(version % 2 == 0 ? 20 : 10, version);
    ledger->MoveTo(*next, 100 * static_cast<int64_t>(version));
    ledger = std::move(next);
    ChargeIt(*ledger, 100 * static_cast<int64_t>(version), 30);
  }
  EXPECT_EQ(ledger->Translate(1, charged), Place::kDrained);
  SavedLedger saved;
  ledger->Save(0, saved);
  EXPECT_LE(saved.origins.size(), 1u);
}

TEST(LedgerMove, OfMoreMovesThanAreRememberedItIsSaid) {
  auto ledger = Whole(10, 1);
  Ledger::Charged first = ChargeIt(*ledger, 0, 1'000'000);
  Ledger::Charged second = first;
  for (uint64_t version = 2; version <= 2 + Ledger::kMostMoves; ++version) {
    EXPECT_NE(ledger->Translate(1, second = first), Place::kUnknown) << version;
    auto next = Whole(version % 2 == 0 ? 20 : 10, version);
    ledger->MoveTo(*next, 0);
    ledger = std::move(next);
  }
  EXPECT_EQ(ledger->Translate(1, first), Place::kUnknown);
  EXPECT_EQ(ledger->Translate(2, second), Place::kHere);
}

TEST(LedgerMove, MovesOutliveARestart) {
  const auto first = Whole(10, 1);
  const auto second = Whole(40, 2);
  const auto third = Whole(20, 3);
  Ledger::Charged charged = ChargeIt(*first, 0, 70);
  first->MoveTo(*second, 20);
  second->MoveTo(*third, 100);
  SavedLedger saved;
  third->Save(0, saved);
  const Ledger after({.clock = RealTime(), .ns_per_unit = 20}, saved, orders);
  ASSERT_EQ(after.Translate(1, charged), Place::kHere);
  EXPECT_EQ(charged.ended_at_ns, 160);
}

std::unique_ptr<Ledger> AfterRestart(const Ledger& ledger, std::vector<Ledger::Charged*> permits) {
  SavedLedger saved;
  ledger.Save(0, saved);
  for (Ledger::Charged* charged : permits) {
    charged->refunded_ns = Ledger::StampAfterRestart(ledger.RefundedSince(1, *charged));
  }
  return std::make_unique<Ledger>(Ledger::Axis{.clock = RealTime(), .ns_per_unit = 1}, saved,
                                  orders);
}

TEST(LedgerRestart, ChargeKeepsItsPlace) {
  const auto before = Whole();
  Ledger::Charged first = ChargeIt(*before, 0, 100);
  Ledger::Charged second = ChargeIt(*before, 0, 100);
  Ledger::Charged third = ChargeIt(*before, 0, 100);
  EXPECT_EQ(before->Refund(second, 100, 90, 0), 90);
  const auto after = AfterRestart(*before, {&first, &third});
  EXPECT_EQ(after->Refund(first, 100, 100, 60), 40);   // it ends at 100
  EXPECT_EQ(after->Refund(third, 100, 100, 100), 70);  // at 210, and now at 170
}

// 33 refunds in the middle are one too many to be noted apart: `second` is taken to end earlier
// than it does, and in front of `first`. Its order is not asked for after a restart.
TEST(LedgerRestart, ChargeWhosePlaceIsNotKnownExactlyIsMovedByEveryRefund) {
  const auto before = Whole();
  Ledger::Charged first = ChargeIt(*before, 0, 20'000);
  const Ledger::Charged between = ChargeIt(*before, 0, 1);
  Ledger::Charged second = ChargeIt(*before, 0, 100);
  const Ledger::Charged behind = ChargeIt(*before, 0, 5000);
  std::vector<Ledger::Charged> far;
  for (int i = 0; i < 31; ++i) far.push_back(ChargeIt(*before, 0, 100'000));
  ChargeIt(*before, 0, 1);
  EXPECT_EQ(before->Refund(between, 1, 1, 0), 1);
  EXPECT_EQ(before->Refund(behind, 5000, 5000, 0), 5000);
  for (const Ledger::Charged& charged : far) before->Refund(charged, 100'000, 100'000, 0);
  const auto after = AfterRestart(*before, {&first, &second});
  ASSERT_EQ(after->Refund(first, 20'000, 20'000, 0), 20'000);
  EXPECT_LE(after->Refund(second, 100, 100, 50), 50);  // it ends at 100
}

TEST(LedgerRestart, ChargeOfAnEvictedKeyDoesNotKnowItsOrder) {
  Ledger ledger({.clock = RealTime(), .ns_per_unit = 1},
                Ledger::Layout{.buckets = 8, .split = "depth 2", .version = 1}, orders);
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  const Ledger::Charged first = ChargeIt(ledger, 0, 100, kSpread);
  EXPECT_EQ(ledger.RefundedSince(1, first), 0);
  for (uint64_t key = 2; key <= 9; ++key) ChargeIt(ledger, 0, 1000, key * kSpread);
  EXPECT_GE(ledger.RefundedSince(1, first), 1);
}

}  // namespace
}  // namespace headgate::engine
