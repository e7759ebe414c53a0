#include "server/decide/engine/refund_order.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "server/decide/engine/refund_total.h"

namespace headgate::engine {
namespace {

constexpr int64_t kLate = 1'000'000;
constexpr auto kMost = static_cast<int64_t>(RefundOrder::kMaxNotes);

RefundOrder::Note NoteAt(int64_t place, int64_t refunded_ns, uint64_t bucket = 1,
                         int64_t drained_at_ns = kLate, uint32_t ledger = 1) {
  return {bucket, place, refunded_ns, drained_at_ns, ledger};
}

TEST(RefundOrder, TellsWhatWentBehindAPlace) {
  RefundOrder order;
  order.Add(NoteAt(100, 7), 0);
  order.Add(NoteAt(50, 11), 0);
  EXPECT_EQ(order.Behind(1, 49), 18);
  EXPECT_EQ(order.Behind(1, 50), 7);
  EXPECT_EQ(order.Behind(1, 99), 7);
  EXPECT_EQ(order.Behind(1, 100), 0);
}

TEST(RefundOrder, KeepsBucketsApart) {
  RefundOrder order;
  order.Add(NoteAt(100, 7, 1), 0);
  order.Add(NoteAt(100, 11, 2), 0);
  EXPECT_EQ(order.Behind(1, 0), 7);
  EXPECT_EQ(order.Behind(2, 0), 11);
  EXPECT_EQ(order.Behind(3, 0), 0);
}

TEST(RefundOrder, ComparesPlacesThatWrapAround) {
  RefundOrder order;
  order.Add(NoteAt(5, 7), 0);  // behind the last one before the wrap
  EXPECT_EQ(order.Behind(1, kTotalMask - 5), 7);
  EXPECT_EQ(order.Behind(1, 6), 0);
}

TEST(RefundOrder, ForgetsWhatHasDrainedFirst) {
  RefundOrder order;
  for (int64_t i = 0; i < kMost; ++i) order.Add(NoteAt(i, 1, 1, i < 10 ? 50 : kLate), 0);
  order.Add(NoteAt(kMost, 1), 60);
  EXPECT_EQ(order.size(), RefundOrder::kMaxNotes - 9);
  EXPECT_EQ(order.Behind(1, 20), kMost - 20);
}

TEST(RefundOrder, JoinsTheTwoNotesThatConfuseLeast) {
  RefundOrder order;
  for (int64_t i = 0; i < kMost; ++i) order.Add(NoteAt(1000 * i, 10), 0);
  order.Add(NoteAt(5001, 3), 0);  // full: two of the equal ones are joined
  order.Add(NoteAt(5002, 3), 0);  // full: 5001 joins 5000
  EXPECT_EQ(order.size(), RefundOrder::kMaxNotes);
  // Nothing got lost for those in front of all, and nothing that was in front counts as behind.
  EXPECT_EQ(order.Behind(1, -1), 10 * kMost + 6);
  EXPECT_EQ(order.Behind(1, 5002), order.Behind(1, 5999));
}

TEST(RefundOrder, NeverTakesForBehindWhatWasInFront) {
  RefundOrder order;
  int64_t total = 0;
  for (int64_t i = 0; i < 20 * kMost; ++i) {
    const int64_t place = i * 7919 % 1009;
    order.Add(NoteAt(place, 1 + i % 5), 0);
    total += 1 + i % 5;
  }
  int64_t exact = 0;
  for (int64_t place = 1008; place >= 0; --place) {
    EXPECT_LE(order.Behind(1, place), exact) << place;
    for (int64_t i = 0; i < 20 * kMost; ++i) exact += i * 7919 % 1009 == place ? 1 + i % 5 : 0;
  }
  EXPECT_EQ(exact, total);
  EXPECT_EQ(order.Behind(1, -1), total);
}

TEST(RefundOrder, OfOneBucketWithManyRefundsLeavesTheOthersTheirs) {
  RefundOrder order;
  order.Add(NoteAt(100, 7, 2), 0);
  order.Add(NoteAt(200, 7, 2), 0);
  for (int64_t i = 0; i < 10 * kMost; ++i) order.Add(NoteAt(i, 1, 1), 0);
  EXPECT_EQ(order.Behind(2, 99), 14);
  EXPECT_EQ(order.Behind(2, 100), 7);
}

TEST(RefundOrder, ForgetsNothingOfALedgerWhoseTimeIsNotKnown) {
  RefundOrder order;
  for (int64_t i = 0; i < kMost; ++i) order.Add(NoteAt(i, 1, 1, 50, /*ledger=*/2), 0);
  order.Add(NoteAt(kMost, 1, 3), 60);
  EXPECT_EQ(order.size(), RefundOrder::kMaxNotes);  // two were joined
  EXPECT_EQ(order.Behind(1, -1), kMost);
}

TEST(RefundOrder, DropsThemInTurnWhereEachBucketHasOne) {
  RefundOrder order;
  for (int64_t i = 0; i < kMost; ++i) order.Add(NoteAt(10, 1, static_cast<uint64_t>(i + 1)), 0);
  for (int64_t i = 0; i < 3; ++i) order.Add(NoteAt(10, 1, static_cast<uint64_t>(i + 1000)), 0);
  int64_t kept = 0;
  for (int64_t i = 0; i < kMost; ++i) kept += order.Behind(static_cast<uint64_t>(i + 1), 0);
  EXPECT_EQ(kept, kMost - 3);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(order.Behind(1000 + i, 0), 1);
}

}  // namespace
}  // namespace headgate::engine
