#include "server/decide/engine/bucket_table.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace headgate::engine {
namespace {

constexpr int64_t kNoBurst = std::numeric_limits<int64_t>::max();
constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // makes well-mixed keys of small numbers

ChargeResult ChargeKey(BucketTable& table, uint64_t tag, int64_t now, int64_t cost,
                       int64_t burst = kNoBurst) {
  Bucket* bucket = table.FindOrInsert(tag, now);
  return bucket == nullptr ? ChargeResult{ChargeOutcome::kMoved}
                           : Charge(*bucket, tag, now, cost, burst);
}

TEST(Bucket, IsTwentyFourBytes) { EXPECT_EQ(sizeof(Bucket), 24U); }

TEST(Bucket, OwesWhatItWasCharged) {
  Bucket bucket;
  EXPECT_EQ(Charge(bucket, 0, 100, 30, 50).empties_at, 130);
  EXPECT_EQ(Charge(bucket, 0, 110, 20, 50).empties_at, 150);
}

TEST(Bucket, IsDrainedWhenRead) {
  Bucket bucket;
  Charge(bucket, 0, 100, 30, 50);
  EXPECT_EQ(Charge(bucket, 0, 500, 10, 50).empties_at, 510);
}

TEST(Bucket, AdmitsExactlyUpToTheBurst) {
  Bucket bucket;
  EXPECT_EQ(Charge(bucket, 0, 100, 30, 50).outcome, ChargeOutcome::kCharged);
  EXPECT_EQ(Charge(bucket, 0, 100, 21, 50).outcome, ChargeOutcome::kOverBurst);
  EXPECT_EQ(Charge(bucket, 0, 100, 20, 50).outcome, ChargeOutcome::kCharged);
  EXPECT_EQ(Charge(bucket, 0, 100, 0, 50).outcome, ChargeOutcome::kCharged);
}

TEST(Bucket, RefusalChangesNothingAndTellsTheTime) {
  Bucket bucket;
  Charge(bucket, 0, 100, 30, 50);
  const ChargeResult refused = Charge(bucket, 0, 100, 21, 50);
  EXPECT_EQ(refused.empties_at, 130);
  EXPECT_EQ(bucket.EmptiesAt(), 130);
}

TEST(Bucket, StaleTimeRefusesTooMuch) {
  Bucket bucket;
  Charge(bucket, 0, 100, 50, 50);
  EXPECT_EQ(Charge(bucket, 0, 130, 30, 50).outcome, ChargeOutcome::kCharged);
  EXPECT_EQ(Charge(bucket, 0, 120, 1, 50).outcome, ChargeOutcome::kOverBurst);
}

TEST(Bucket, SaturatesAtTheHorizon) {
  Bucket bucket;
  constexpr int64_t kHuge = int64_t{1} << 61;
  for (int i = 0; i < 5; ++i) Charge(bucket, 0, 1000, kHuge, kNoBurst);
  EXPECT_EQ(bucket.EmptiesAt(), Bucket::kHorizonNs);
}

TEST(Bucket, OfAnotherKeyIsLeftAlone) {
  Bucket bucket;
  bucket.tag = 7;
  EXPECT_EQ(Charge(bucket, 8, 100, 30, 50).outcome, ChargeOutcome::kEvicted);
  EXPECT_EQ(Charge(bucket, 8, 100, 51, 50).outcome, ChargeOutcome::kEvicted);
  EXPECT_LE(bucket.EmptiesAt(), 100);
}

void Refund(Bucket& bucket, int64_t amount, LockedBucket::Behind behind) {
  LockedBucket locked(bucket);
  if (!locked.moved()) locked.Refund(amount, behind);
}

TEST(Bucket, TakesBackWhatIsRefunded) {
  Bucket bucket;
  Charge(bucket, 0, 100, 30, 50);
  Refund(bucket, 12, LockedBucket::Behind::kNobody);
  EXPECT_EQ(bucket.EmptiesAt(), 118);
}

TEST(Bucket, CountsARefundThatMovesSomebodyForward) {
  Bucket bucket;
  EXPECT_EQ(Charge(bucket, 0, 100, 30, 50).refunded_ns, 0);
  Refund(bucket, 5, LockedBucket::Behind::kNobody);
  EXPECT_EQ(Charge(bucket, 0, 100, 1, 50).refunded_ns, 0);
  Refund(bucket, 7, LockedBucket::Behind::kSomebody);
  EXPECT_EQ(Charge(bucket, 0, 100, 1, 50).refunded_ns, 7);
}

TEST(Bucket, MarksTheTotalOfAChargeThatARefundCameCloseTo) {
  Bucket bucket;
  bucket.refunded = 8;
  EXPECT_EQ(StampOf(bucket, 8), 8);
  EXPECT_EQ(StampOf(bucket, 5), 5 | kOrderUnknown);
}

TEST(Bucket, IsLockedOnlyForAsLongAsTheLockLives) {
  Bucket bucket;
  Charge(bucket, 0, 100, 30, 50);
  {
    LockedBucket locked(bucket);
    EXPECT_EQ(bucket.empties_at.load(), Bucket::kLocked);
    EXPECT_EQ(locked.empties_at_ns(), 130);
  }
  EXPECT_EQ(bucket.EmptiesAt(), 130);
}

TEST(BucketTable, HasAPowerOfTwoOfBucketsAndEightAtLeast) {
  EXPECT_EQ(BucketTable(1).capacity(), 8U);
  EXPECT_EQ(BucketTable(8).capacity(), 8U);
  EXPECT_EQ(BucketTable(9).capacity(), 16U);
  EXPECT_EQ(BucketTable(1000).capacity(), 1024U);
}

TEST(BucketTable, FindsOnlyWhatWasInserted) {
  BucketTable table(64);
  EXPECT_EQ(table.Find(kSpread), nullptr);
  Bucket* bucket = table.FindOrInsert(kSpread, 0);
  EXPECT_EQ(table.Find(kSpread), bucket);
  EXPECT_EQ(table.FindOrInsert(kSpread, 0), bucket);
  EXPECT_EQ(table.Find(2 * kSpread), nullptr);
}

TEST(BucketTable, KeyZeroIsAKeyLikeAnyOther) {
  EXPECT_EQ(BucketTable::TagOf(0), 1U);
  EXPECT_EQ(BucketTable::TagOf(5), 5U);
}

TEST(BucketTable, UsesBothLinesOfAKey) {
  BucketTable table(8);  // two lines: every key may stand in either
  for (uint64_t key = 1; key <= 8; ++key) ChargeKey(table, key * kSpread, 0, 100);
  for (uint64_t key = 1; key <= 8; ++key) EXPECT_NE(table.Find(key * kSpread), nullptr);
  EXPECT_EQ(table.live_evictions(), 0U);
}

TEST(BucketTable, NewcomerTakesAnEmptiedBucketFirst) {
  BucketTable table(8);
  for (uint64_t key = 1; key <= 8; ++key) {
    ChargeKey(table, key * kSpread, 0, key == 5 ? 10 : 100);
  }
  EXPECT_EQ(ChargeKey(table, 9 * kSpread, 10, 7).empties_at, 17);
  EXPECT_EQ(table.Find(5 * kSpread), nullptr);
  EXPECT_EQ(table.live_evictions(), 0U);
}

TEST(BucketTable, NewcomerInheritsTheDebtThatEmptiesSoonest) {
  BucketTable table(8);
  for (uint64_t key = 1; key <= 8; ++key) {
    ChargeKey(table, key * kSpread, 0, 100 + static_cast<int64_t>(key));
  }
  EXPECT_EQ(table.EmptiesAtIfInserted(9 * kSpread, 50), 101);
  EXPECT_EQ(ChargeKey(table, 9 * kSpread, 50, 7).empties_at, 108);
  EXPECT_EQ(table.Find(kSpread), nullptr);
  EXPECT_EQ(table.live_evictions(), 1U);
}

TEST(BucketTable, LeastTimeOfFullLinesNeverFalls) {
  BucketTable table(8);
  for (uint64_t key = 1; key <= 8; ++key) {
    ChargeKey(table, key * kSpread, 0, 1000 + static_cast<int64_t>(key * 7 % 5));
  }
  int64_t least = 0;
  for (uint64_t key = 9; key < 200; ++key) {
    ChargeKey(table, key * kSpread, 0, static_cast<int64_t>(key * 13 % 40));
    const int64_t now_least = table.EmptiesAtIfInserted(1'000'000 * kSpread, 0);
    EXPECT_GE(now_least, least);
    least = now_least;
  }
}

TEST(BucketTable, EvictedKeyComesBackOwingAtLeastWhatItOwed) {
  BucketTable table(8);
  for (uint64_t key = 1; key <= 100; ++key) ChargeKey(table, key * kSpread, 0, 60, 100);
  for (uint64_t key = 1; key <= 100; ++key) {
    EXPECT_GE(table.EmptiesAtIfInserted(key * kSpread, 0), 60);
  }
}

TEST(BucketTable, RotatingThroughKeysAdmitsNoMoreThanEveryBucketsBurst) {
  BucketTable table(8);
  int admitted = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    admitted +=
        ChargeKey(table, (i % 1000 + 1) * kSpread, 0, 1, 50).outcome == ChargeOutcome::kCharged;
  }
  EXPECT_LE(admitted, 8 * 50);
}

TEST(BucketTable, EmptiesAtIfInsertedChangesNothing) {
  BucketTable table(8);
  EXPECT_LE(table.EmptiesAtIfInserted(kSpread, 5), 5);
  EXPECT_EQ(table.Find(kSpread), nullptr);
}

TEST(BucketTable, CountsWhoOwes) {
  BucketTable table(64);
  for (uint64_t key = 1; key <= 10; ++key) {
    ChargeKey(table, key * kSpread, 0, static_cast<int64_t>(key));
  }
  EXPECT_EQ(table.CountOwing(0), 10U);
  EXPECT_EQ(table.CountOwing(4), 6U);
  EXPECT_EQ(table.CountOwing(10), 0U);
  EXPECT_EQ(table.LatestEmptiesAt(), 10);
}

TEST(BucketTable, MovesEveryDebtToATableOfItsSize) {
  BucketTable from(64);
  BucketTable to(64);
  for (uint64_t key = 1; key <= 40; ++key) {
    ChargeKey(from, key * kSpread, 100, static_cast<int64_t>(key));
  }
  from.MoveTo(to, 100, 1000, [](int64_t at) { return 1000 + 2 * (at - 100); });
  for (uint64_t key = 1; key <= 40; ++key) {
    const Bucket* bucket = to.Find(key * kSpread);
    ASSERT_NE(bucket, nullptr);
    EXPECT_EQ(bucket->EmptiesAt(), 1000 + 2 * static_cast<int64_t>(key));
  }
}

TEST(BucketTable, MovesEveryDebtToALargerTable) {
  BucketTable from(64);
  BucketTable to(1024);
  for (uint64_t key = 1; key <= 40; ++key) {
    ChargeKey(from, key * kSpread, 0, static_cast<int64_t>(key));
  }
  from.MoveTo(to, 0, 0, [](int64_t at) { return at; });
  for (uint64_t key = 1; key <= 40; ++key) {
    EXPECT_EQ(to.EmptiesAtIfInserted(key * kSpread, 0), static_cast<int64_t>(key));
  }
}

TEST(BucketTable, InASmallerTableEveryoneOwesAtLeastAsMuch) {
  BucketTable from(1024);
  BucketTable to(8);
  for (uint64_t key = 1; key <= 300; ++key) {
    ChargeKey(from, key * kSpread, 0, static_cast<int64_t>(key % 50 + 1));
  }
  from.MoveTo(to, 0, 0, [](int64_t at) { return at; });
  for (uint64_t key = 1; key <= 300; ++key) {
    EXPECT_GE(to.EmptiesAtIfInserted(key * kSpread, 0), static_cast<int64_t>(key % 50 + 1));
  }
}

TEST(BucketTable, InALargerTableEvictedKeysOweAtLeastAsMuch) {
  BucketTable from(8);
  BucketTable to(1024);
  for (uint64_t key = 1; key <= 100; ++key) ChargeKey(from, key * kSpread, 0, 60, 100);
  from.MoveTo(to, 0, 0, [](int64_t at) { return at; });
  int forgotten = 0;
  for (uint64_t key = 1; key <= 100; ++key) {
    forgotten += to.EmptiesAtIfInserted(key * kSpread, 0) < 60;
  }
  EXPECT_EQ(forgotten, 0);
}

TEST(BucketTable, AFilledTableMovesItsDebtToALargerOne) {
  BucketTable from(8);
  BucketTable to(1024);
  from.Fill(70);
  from.MoveTo(to, 0, 0, [](int64_t at) { return at; });
  int forgotten = 0;
  for (uint64_t key = 1; key <= 100; ++key) {
    forgotten += to.EmptiesAtIfInserted(key * kSpread, 0) < 70;
  }
  EXPECT_EQ(forgotten, 0);
}

TEST(BucketTable, AfterAMoveTheOldTableOnlySaysSo) {
  BucketTable from(8);
  BucketTable to(8);
  ChargeKey(from, kSpread, 0, 10);
  Bucket* bucket = from.Find(kSpread);
  from.MoveTo(to, 0, 0, [](int64_t at) { return at; });
  EXPECT_EQ(Charge(*bucket, kSpread, 0, 10, 100).outcome, ChargeOutcome::kMoved);
  EXPECT_TRUE(LockedBucket(*bucket).moved());
  EXPECT_EQ(from.FindOrInsert(2 * kSpread, 0), nullptr);
  EXPECT_EQ(from.CountOwing(0), 0U);
}

// Fills all eight cells: key k * kSpread empties at 1000 + k.
void FillEight(BucketTable& table) {
  for (uint64_t key = 1; key <= 8; ++key) {
    ChargeKey(table, key * kSpread, 0, 1000 + static_cast<int64_t>(key));
  }
}

int64_t PlaceOf(const Bucket& bucket) {
  return AddToTotal(bucket.refunded.load(), bucket.EmptiesAt());
}

TEST(BucketTable, KeyThatComesBackFindsNoSmallerTotal) {
  BucketTable table(8);
  FillEight(table);
  Refund(*table.Find(kSpread), 100, LockedBucket::Behind::kSomebody);
  ChargeKey(table, 9 * kSpread, 0, 5000);  // takes the first one's cell
  ASSERT_EQ(table.Find(kSpread), nullptr);
  Bucket* const back = table.FindOrInsert(kSpread, 0);
  EXPECT_GE(back->refunded.load(), 100);
}

TEST(BucketTable, KeyThatComesBackAfterItsDebtDrainedFindsNoSmallerTotal) {
  BucketTable table(8);
  FillEight(table);
  Refund(*table.Find(kSpread), 100, LockedBucket::Behind::kSomebody);
  for (uint64_t key = 9; key <= 16; ++key) ChargeKey(table, key * kSpread, 2000, 5000);
  ASSERT_EQ(table.Find(kSpread), nullptr);
  EXPECT_GE(table.FindOrInsert(kSpread, 9000)->refunded.load(), 100);
}

TEST(BucketTable, KeyThatComesBackGoesOnBehindAllOfItsCharges) {
  BucketTable table(8);
  FillEight(table);
  const int64_t place = PlaceOf(*table.Find(kSpread));
  ChargeKey(table, 9 * kSpread, 0, 5000);  // takes the first one's cell
  Refund(*table.Find(2 * kSpread), 1000, LockedBucket::Behind::kNobody);  // to 2
  ASSERT_EQ(table.Find(kSpread), nullptr);
  Bucket* const back = table.FindOrInsert(kSpread, 0);
  EXPECT_LT(back->EmptiesAt(), 1001);  // by a refund to another key: algorithm.md
  EXPECT_GE(PlaceOf(*back), place);
}

TEST(BucketTable, MoveKeepsTotals) {
  for (const size_t buckets : {8, 64}) {
    BucketTable from(8);
    BucketTable to(buckets);
    ChargeKey(from, kSpread, 0, 1000);
    ChargeKey(from, 2 * kSpread, 0, 10);
    Refund(*from.Find(kSpread), 7, LockedBucket::Behind::kSomebody);
    Refund(*from.Find(2 * kSpread), 9, LockedBucket::Behind::kSomebody);
    from.MoveTo(to, 10, 10, [](int64_t at) { return at; });
    EXPECT_EQ(to.Find(kSpread)->refunded.load(), 7);
    ASSERT_EQ(to.Find(2 * kSpread), nullptr);  // it owed nothing any more
    EXPECT_GE(to.FindOrInsert(2 * kSpread, 10)->refunded.load(), 9);
  }
}

TEST(BucketTable, RetiresAllAndTellsTheLatestTime) {
  BucketTable table(64);
  for (uint64_t key = 1; key <= 10; ++key) {
    ChargeKey(table, key * kSpread, 0, static_cast<int64_t>(key));
  }
  EXPECT_EQ(table.RetireAll(), 10);
  EXPECT_EQ(table.FindOrInsert(kSpread, 0) == nullptr ||
                ChargeKey(table, kSpread, 0, 1).outcome == ChargeOutcome::kMoved,
            true);
}

TEST(BucketTable, FillMakesEveryNewcomerOwe) {
  BucketTable table(64);
  table.Fill(500);
  for (uint64_t key = 1; key <= 200; ++key) {
    EXPECT_EQ(table.EmptiesAtIfInserted(key * kSpread, 100), 500);
    EXPECT_EQ(ChargeKey(table, key * kSpread, 100, 1, 400).outcome, ChargeOutcome::kOverBurst);
  }
  EXPECT_EQ(ChargeKey(table, kSpread, 500, 1, 400).outcome, ChargeOutcome::kCharged);
}

}  // namespace
}  // namespace headgate::engine
