// Reverse leaky buckets in fixed memory.
//
// A bucket is one number: the instant of virtual time at which its debt will have drained. Debt is
// max(0, empties_at - now); charging sets max(empties_at, now) + cost; nothing ever drains or
// sweeps a bucket, time does. A bucket without debt need not exist.
//
//   line:  | tag, empties_at, refunded | ... | ... | tag, empties_at, refunded |   96 bytes
//
// Each key may stand in either of two lines. An insert takes an emptied cell, else the one of the
// eight that empties soonest, and the newcomer *inherits* what that bucket still owed. Hence, as
// long as nothing is refunded, the least `empties_at` of a key's eight cells never falls while all
// eight owe something; a key that was evicted owing D comes back owing at least what is left of D.
// Rotating through keys cannot reset a limit. All buckets of a table live on one clock and have one
// rate: the comparison would mean nothing otherwise.
//
// A bucket also counts what was refunded to it, so that a permit can tell by how much its charge
// was moved forward. A refund locks the bucket's time while it changes both; a charge needs no
// lock, but remembers the total that belongs to the time which it exchanged. A refund to the last
// charge moves nobody and is not counted. A key that is evicted and comes back finds a total that
// is no smaller than the one it left.
//
// Invariants
//  1. A key stands in at most one cell: tags change only under the key's stripe of `insert_locks_`.
//  2. While a cell's tag changes, its time is kLocked, and the tag is changed only if the time was
//     still the one on whose account the cell was chosen. A charge that read the old tag and still
//     wins its compare-and-swap after the change (the inherited time may be the same number) finds
//     the tag changed when it looks again, and takes itself back. So a charge never stays in
//     another identity's bucket, with no 16-byte compare-and-swap.
//  3. A total changes only while the cell's time is kLocked, and only grows.
//  4. No key's total falls, and the sum of time and total from which its charges go on does not
//     either, whether it was evicted in between or not: see `left_`.
//  5. A cell whose time is kMoved belongs to a table that has been replaced; see MoveTo.
//
// Thread-safe. Find and Charge take no lock, but wait for whoever has locked the bucket: for a few
// nanoseconds, unless that thread was preempted. FindOrInsert takes a lock only for a newcomer.
// Sources: drain on read and evict on insert are the lazily updated leaky bucket; two-choice
// placement is Azar et al., "Balanced Allocations" (1994). Inheritance is our own.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "common/mutex.h"
#include "server/decide/engine/refund_total.h"

namespace headgate::engine {

struct SavedTable;

// Tag, time and refunds of one bucket. A time at or before now, 0 included, is one without debt.
struct Bucket {
  static constexpr int64_t kLocked = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kMoved = kLocked - 1;
  // Debts saturate here: far enough behind the end of virtual time for any burst.
  static constexpr int64_t kHorizonNs = int64_t{1} << 62;

  std::atomic<uint64_t> tag{0};  // 0: never used
  std::atomic<int64_t> empties_at{0};
  std::atomic<int64_t> refunded{0};  // see refund_total.h

  // The time, once nobody is exchanging the bucket's owner. kMoved is returned as it is.
  int64_t EmptiesAt() const {
    // acquire: with the time comes the tag that was written before it.
    const int64_t at = empties_at.load(std::memory_order_acquire);
    return at != kLocked ? at : AwaitUnlocked();
  }
  int64_t AwaitUnlocked() const;
};
static_assert(sizeof(Bucket) == 24);

enum class ChargeOutcome : uint8_t {
  kCharged,
  kOverBurst,  // nothing was changed
  kEvicted,    // the bucket is another key's by now: find it again
  kMoved,      // the table was replaced: use its successor
};

struct ChargeResult {
  ChargeOutcome outcome;
  // kCharged: when the bucket empties now. kOverBurst: when it emptied, before the charge.
  int64_t empties_at = 0;
  // kCharged: the total of refunds just before; marked kOrderUnknown where a refund came so close
  // that this may be an earlier total.
  int64_t refunded_ns = 0;
};

// Adds `cost_ns` to `bucket`, if it is still `tag`'s and its debt would not pass `burst_ns`.
inline ChargeResult Charge(Bucket& bucket, uint64_t tag, int64_t now_ns, int64_t cost_ns,
                           int64_t burst_ns);

// A bucket that nobody charges, refunds, evicts or moves meanwhile, unless it has moved before. Not
// for longer than a few instructions: others spin.
class LockedBucket {
 public:
  explicit LockedBucket(Bucket& bucket);
  ~LockedBucket();
  LockedBucket(const LockedBucket&) = delete;
  LockedBucket& operator=(const LockedBucket&) = delete;

  bool moved() const { return empties_at_ns_ == Bucket::kMoved; }
  // relaxed, both: whoever changes them has the lock, which came with acquire.
  uint64_t tag() const { return bucket_.tag.load(std::memory_order_relaxed); }
  int64_t refunded_ns() const { return bucket_.refunded.load(std::memory_order_relaxed); }
  int64_t empties_at_ns() const { return empties_at_ns_; }

  enum class Behind : uint8_t { kNobody, kSomebody };  // the charge that it is taken back from
  void Refund(int64_t amount_ns, Behind behind);

 private:
  Bucket& bucket_;
  int64_t empties_at_ns_;
};

// Marks the bucket as moved; no charge gets in afterwards. Returns its time.
int64_t Retire(Bucket& bucket);

class BucketTable {
 public:
  static constexpr int kWays = 4;

  // Room for at least `buckets` buckets: a power of two, 8 at least.
  explicit BucketTable(size_t buckets);
  BucketTable(const BucketTable&) = delete;
  BucketTable& operator=(const BucketTable&) = delete;

  static size_t CapacityFor(size_t buckets);
  size_t capacity() const { return (mask_ + 1) * kWays; }

  // `key` is a well-mixed hash; 0 stands for 1. The tag of a key's bucket is the key itself.
  static uint64_t TagOf(uint64_t key) { return key == 0 ? 1 : key; }

  // Buckets from which on prefetching pays: 24 MiB of them. With fewer, a Check of four levels
  // would execute a twentieth more instructions for nothing.
  static constexpr size_t kMoreThanCachesHold = size_t{1} << 20;
  // Both lines, so that a Check waits once instead of twice for each bucket. For reading:
  // prefetching for writing made refusals three times slower with two threads. Inlined, since GCC
  // takes a function that only prefetches for one that does nothing, and leaves it out.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Prefetch(uint64_t tag) const {
    PrefetchLine(FirstLine(tag));
    PrefetchLine(SecondLine(tag));
  }

  // The key's bucket, or null. It may be evicted at any time: whoever charges or locks it
  // looks again.
  Bucket* Find(uint64_t tag) const {
    // relaxed: a tag only proposes a cell; Charge and LockedBucket look at it again, in order.
    return Find(tag, std::memory_order_relaxed);
  }

  // What `tag` owes, or would inherit: the time its bucket has, or that of the cell it would take.
  int64_t EmptiesAtIfInserted(uint64_t tag, int64_t now_ns) const;

  // The key's bucket, made if need be. Null: the table is being moved.
  Bucket* FindOrInsert(uint64_t tag, int64_t now_ns);

  // Moves all buckets to `successor`, which nobody else uses yet, each time translated by
  // `translate`. Where capacities differ, a smaller successor evicts, and inherits, as ever; and
  // what any evicted bucket may still owe is owed by every newcomer to the successor, whose cells
  // would know nothing of it. Totals of refunds stay as they are. From then on charges of this
  // table answer kMoved. Takes about 10 ns a bucket.
  void MoveTo(BucketTable& successor, int64_t now_ns, int64_t successor_now_ns,
              absl::FunctionRef<int64_t(int64_t)> translate);

  // As MoveTo, to nowhere: returns the latest time among the buckets.
  int64_t RetireAll();

  // Makes every newcomer to this unused table inherit a debt until `empties_at`.
  void Fill(int64_t empties_at);

  // Copies what owes at `now_ns`, without waiting for anybody but an exchange of owners.
  void Save(int64_t now_ns, SavedTable& saved) const;
  // Into a table of the same shape that nobody uses yet; of one that Validate finds right.
  void Restore(const SavedTable& saved);
  // The same into a table in use, for whose keys nobody holds a charge any more: all that it knows
  // is forgotten. `here` says of what was owed, 0 included, when it is paid here.
  void Overwrite(const SavedTable& owed, absl::FunctionRef<int64_t(int64_t)> here);
  // Whether such a bucket could have stood in a line of a table with so many.
  static bool MayStandIn(uint64_t tag, size_t line, size_t lines);

  // No less than what `tag`'s bucket has refunded, or would start with if it were made now;
  // `evicted`: it has none.
  int64_t RefundedTo(uint64_t tag, bool& evicted) const;

  // Debtors at `now_ns`, and evictions of debtors so far. The first reads the whole table.
  size_t CountOwing(int64_t now_ns) const;
  uint64_t live_evictions() const { return live_evictions_.load(std::memory_order_relaxed); }
  int64_t LatestEmptiesAt() const;

  struct Debtor {
    uint64_t tag = 0;
    int64_t empties_at_ns = 0;
  };
  // At most `most` that owe at `now_ns`, the largest debt first. Reads the whole table.
  std::vector<Debtor> LargestDebtors(int64_t now_ns, size_t most) const;

 private:
  static constexpr int kStripes = 64;

  // One and a half cache lines: every other line shares one with the next.
  struct alignas(32) Line {
    std::array<Bucket, kWays> ways;
  };
  static_assert(sizeof(Line) == 96);
  ABSL_ATTRIBUTE_ALWAYS_INLINE static void PrefetchLine(const Line& line) {
    __builtin_prefetch(&line, 0);
    __builtin_prefetch(reinterpret_cast<const char*>(&line) + 64, 0);
  }

  // The largest with which any key of a stripe has left the table, so that none comes back to less.
  struct Left {
    std::atomic<int64_t> refunded{0};
    std::atomic<int64_t> place{0};  // time and total together; of this table's axis
  };
  static size_t StripeOf(uint64_t tag) { return (tag >> 8) % kStripes; }
  void Leave(uint64_t tag, int64_t empties_at, int64_t refunded);
  // Takes a cell over whose time is kLocked. Returns the time to unlock it with.
  int64_t Reassign(Bucket& bucket, uint64_t tag, int64_t inherited, int64_t now_ns);
  Bucket* Find(uint64_t tag, std::memory_order order) const {
    for (Bucket& bucket : FirstLine(tag).ways) {
      if (bucket.tag.load(order) == tag) return &bucket;
    }
    for (Bucket& bucket : SecondLine(tag).ways) {
      if (bucket.tag.load(order) == tag) return &bucket;
    }
    return nullptr;
  }

  // The two lines of a key. The second differs from the first by an odd part of the hash.
  static size_t FirstPlace(uint64_t tag, uint64_t mask) { return tag & mask; }
  static size_t SecondPlace(uint64_t tag, uint64_t mask) {
    return (tag ^ ((tag >> 32) | 1)) & mask;
  }
  Line& FirstLine(uint64_t tag) const { return lines_[FirstPlace(tag, mask_)]; }
  Line& SecondLine(uint64_t tag) const { return lines_[SecondPlace(tag, mask_)]; }

  // Marks every bucket as moved; their times, line after line.
  std::vector<int64_t> RetireEach();
  // No key that stands in no cell owes beyond this.
  int64_t LatestOfEvicted(const std::vector<int64_t>& times) const;
  Bucket* ChooseVictim(uint64_t tag, int64_t now_ns, int64_t& empties_at) const;

  std::unique_ptr<Line[]> lines_;
  uint64_t mask_;             // lines - 1
  int64_t filled_until_ = 0;  // see Fill
  std::atomic<uint64_t> live_evictions_{0};
  std::array<Mutex, kStripes> insert_locks_;
  std::array<Left, kStripes> left_;
};

// The exchange that lost the first race, or found another owner.
ChargeResult ChargeContended(Bucket& bucket, uint64_t tag, int64_t now_ns, int64_t cost_ns,
                             int64_t burst_ns);
ChargeResult ChargeEvicted(Bucket& bucket, int64_t charged_ns, int64_t charged_to_ns);

// What a charge remembers of the total, read before its exchange and again behind it. The same: so
// it was at the exchange, as totals only grow. relaxed: the exchange keeps this behind it.
inline int64_t StampOf(const Bucket& bucket, int64_t before) {
  if (bucket.refunded.load(std::memory_order_relaxed) == before) [[likely]]
    return before;
  return before | kOrderUnknown;
}

inline ChargeResult Charge(Bucket& bucket, uint64_t tag, int64_t now_ns, int64_t cost_ns,
                           int64_t burst_ns) {
  // acquire: whoever sees a refund counted exchanges a time that knows of it. The other way round,
  // a count that lags, only makes a later refund smaller.
  const int64_t refunded = bucket.refunded.load(std::memory_order_acquire);
  int64_t at = bucket.empties_at.load(std::memory_order_acquire);
  const int64_t from = at > now_ns ? at : now_ns;
  // The time of a bucket that is locked, or has moved, is far beyond the horizon, so this catches
  // it too: ChargeContended waits for it.
  if (from - now_ns <= burst_ns - cost_ns && cost_ns <= Bucket::kHorizonNs - from) [[likely]] {
    // acq_rel: the look at the tag must come after the exchange, and whoever evicts this bucket
    // must see the charge.
    if (bucket.empties_at.compare_exchange_strong(at, from + cost_ns, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) [[likely]] {
      if (bucket.tag.load(std::memory_order_relaxed) == tag) [[likely]] {
        return {ChargeOutcome::kCharged, from + cost_ns, StampOf(bucket, refunded)};
      }
      return ChargeEvicted(bucket, cost_ns, from + cost_ns);
    }
  }
  return ChargeContended(bucket, tag, now_ns, cost_ns, burst_ns);
}

}  // namespace headgate::engine
