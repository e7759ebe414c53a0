#include "server/decide/engine/bucket_table.h"

#include <algorithm>
#include <bit>

#include "server/decide/engine/spin_wait.h"

namespace headgate::engine {
namespace {

constexpr int64_t AddSaturated(int64_t time_ns, int64_t more_ns) {
  return more_ns > Bucket::kHorizonNs - time_ns ? Bucket::kHorizonNs : time_ns + more_ns;
}

}  // namespace

int64_t Bucket::AwaitUnlocked() const {
  // A new owner or a refund is being written.
  int64_t at;
  SpinWait wait;
  do {
    wait.Pause();
    at = empties_at.load(std::memory_order_acquire);
  } while (at == kLocked);
  return at;
}

LockedBucket::LockedBucket(Bucket& bucket) : bucket_(bucket), empties_at_ns_(bucket.EmptiesAt()) {
  // acquire: the tag and the total that belong to this time.
  while (!moved() && !bucket_.empties_at.compare_exchange_weak(empties_at_ns_, Bucket::kLocked,
                                                               std::memory_order_acquire,
                                                               std::memory_order_acquire)) {
    if (empties_at_ns_ == Bucket::kLocked) empties_at_ns_ = bucket_.EmptiesAt();
  }
}

LockedBucket::~LockedBucket() {
  // release: whoever sees this time sees what was counted.
  if (!moved()) bucket_.empties_at.store(empties_at_ns_, std::memory_order_release);
}

void LockedBucket::Refund(int64_t amount_ns, Behind behind) {
  empties_at_ns_ -= amount_ns;
  if (behind == Behind::kNobody) return;
  // release: a charge that sees the new total sees at least the lock, and waits for the new time.
  bucket_.refunded.store(AddToTotal(refunded_ns(), amount_ns), std::memory_order_release);
}

ChargeResult ChargeContended(Bucket& bucket, uint64_t tag, int64_t now_ns, int64_t cost_ns,
                             int64_t burst_ns) {
  // acquire: as in Charge; likewise below.
  int64_t refunded = bucket.refunded.load(std::memory_order_acquire);
  int64_t at = bucket.EmptiesAt();
  for (;;) {
    if (at == Bucket::kMoved) return {ChargeOutcome::kMoved};
    const int64_t from = std::max(at, now_ns);
    if (from - now_ns > burst_ns - cost_ns) {
      const bool ours = bucket.tag.load(std::memory_order_relaxed) == tag;
      return {ours ? ChargeOutcome::kOverBurst : ChargeOutcome::kEvicted, at};
    }
    const int64_t to = AddSaturated(from, cost_ns);
    // acq_rel: as in Charge. Failure reloads and decides anew.
    if (bucket.empties_at.compare_exchange_weak(at, to, std::memory_order_acq_rel,
                                                std::memory_order_acquire)) {
      if (bucket.tag.load(std::memory_order_relaxed) == tag) {
        return {ChargeOutcome::kCharged, to, StampOf(bucket, refunded)};
      }
      return ChargeEvicted(bucket, to - from, to);
    }
    refunded = bucket.refunded.load(std::memory_order_acquire);
    at = bucket.EmptiesAt();
  }
}

// Invariant 2: evicted in between, and the heir owes the very time that we had read. Nothing to do
// once it has moved: the successor owes too much for a while, which only refuses too much.
ChargeResult ChargeEvicted(Bucket& bucket, int64_t charged_ns, int64_t charged_to_ns) {
  LockedBucket locked(bucket);
  if (!locked.moved()) {
    const bool is_last = locked.empties_at_ns() == charged_to_ns;
    locked.Refund(charged_ns,
                  is_last ? LockedBucket::Behind::kNobody : LockedBucket::Behind::kSomebody);
  }
  return {ChargeOutcome::kEvicted};
}

int64_t Retire(Bucket& bucket) {
  int64_t at = bucket.EmptiesAt();
  // acq_rel: the tag read afterwards is the one that owes `at`.
  while (!bucket.empties_at.compare_exchange_weak(at, Bucket::kMoved, std::memory_order_acq_rel,
                                                  std::memory_order_acquire)) {
    if (at == Bucket::kLocked) at = bucket.EmptiesAt();
  }
  return at;
}

size_t BucketTable::CapacityFor(size_t buckets) {
  return std::bit_ceil(std::max<size_t>(buckets, 2 * kWays));
}

BucketTable::BucketTable(size_t buckets)
    : lines_(std::make_unique<Line[]>(CapacityFor(buckets) / kWays)),
      mask_(CapacityFor(buckets) / kWays - 1) {}

std::vector<int64_t> BucketTable::RetireEach() {
  std::vector<int64_t> times;
  times.reserve(capacity());
  for (size_t i = 0; i <= mask_; ++i) {
    for (Bucket& bucket : lines_[i].ways) times.push_back(Retire(bucket));
  }
  return times;
}

// A key was evicted as the least of its eight cells, and their least has not fallen since: it owes
// no more than the least of either line.
int64_t BucketTable::LatestOfEvicted(const std::vector<int64_t>& times) const {
  int64_t latest = filled_until_;
  if (live_evictions() == 0) return latest;
  for (auto line = times.begin(); line != times.end(); line += kWays) {
    latest = std::max(latest, *std::min_element(line, line + kWays));
  }
  return latest;
}

void BucketTable::MoveTo(BucketTable& successor, int64_t now_ns, int64_t successor_now_ns,
                         absl::FunctionRef<int64_t(int64_t)> translate) {
  const bool same_shape = mask_ == successor.mask_;
  const std::vector<int64_t> times = RetireEach();
  const int64_t evicted = LatestOfEvicted(times);
  if (evicted > now_ns) {
    successor.filled_until_ = translate(evicted);
    if (!same_shape) successor.Fill(successor.filled_until_);
  }
  successor.live_evictions_.store(live_evictions(), std::memory_order_relaxed);
  // Without places, which are of this axis: the order of charges from before is not asked for.
  for (int i = 0; i < kStripes; ++i) {
    RaiseTotal(successor.left_[i].refunded, left_[i].refunded.load(std::memory_order_relaxed));
  }
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t at = times[i];
    const Bucket& from = lines_[i / kWays].ways[i % kWays];
    const uint64_t tag = from.tag.load(std::memory_order_relaxed);
    // relaxed: Retire has ordered it, and nobody changes it any more.
    const int64_t refunded = from.refunded.load(std::memory_order_relaxed);
    if (at <= now_ns || at == Bucket::kMoved || (tag == 0 && !same_shape)) {
      if (tag != 0) RaiseTotal(successor.left_[StripeOf(tag)].refunded, refunded);
      continue;
    }
    Bucket* to = same_shape ? &successor.lines_[i / kWays].ways[i % kWays]
                            : successor.FindOrInsert(tag, successor_now_ns);
    if (to == nullptr) continue;  // never: the successor is not being moved
    // relaxed: the successor is not published yet.
    to->tag.store(tag, std::memory_order_relaxed);
    const int64_t inherited = to->empties_at.load(std::memory_order_relaxed);
    to->empties_at.store(std::max(inherited, translate(at)), std::memory_order_relaxed);
    RaiseTotal(to->refunded, refunded);
  }
}

int64_t BucketTable::RetireAll() {
  int64_t latest = 0;
  for (const int64_t at : RetireEach()) {
    if (at != Bucket::kMoved) latest = std::max(latest, at);
  }
  return latest;
}

void BucketTable::Fill(int64_t empties_at) {
  filled_until_ = std::max(filled_until_, empties_at);
  for (size_t i = 0; i <= mask_; ++i) {
    for (Bucket& bucket : lines_[i].ways) {
      bucket.empties_at.store(empties_at, std::memory_order_relaxed);
    }
  }
}

size_t BucketTable::CountOwing(int64_t now_ns) const {
  size_t owing = 0;
  for (size_t i = 0; i <= mask_; ++i) {
    for (const Bucket& bucket : lines_[i].ways) {
      const int64_t at = bucket.EmptiesAt();
      if (at > now_ns && at != Bucket::kMoved) ++owing;
    }
  }
  return owing;
}

int64_t BucketTable::LatestEmptiesAt() const {
  int64_t latest = 0;
  for (size_t i = 0; i <= mask_; ++i) {
    for (const Bucket& bucket : lines_[i].ways) {
      const int64_t at = bucket.EmptiesAt();
      if (at != Bucket::kMoved) latest = std::max(latest, at);
    }
  }
  return latest;
}

std::vector<BucketTable::Debtor> BucketTable::LargestDebtors(int64_t now_ns, size_t most) const {
  const auto larger = [](const Debtor& a, const Debtor& b) {
    return a.empties_at_ns > b.empties_at_ns;
  };
  std::vector<Debtor> heap;  // its first is the smallest that is kept
  for (size_t i = 0; most > 0 && i <= mask_; ++i) {
    for (const Bucket& bucket : lines_[i].ways) {
      const int64_t at = bucket.EmptiesAt();
      if (at <= now_ns || at == Bucket::kMoved) continue;
      if (heap.size() == most) {
        if (at <= heap.front().empties_at_ns) continue;
        std::pop_heap(heap.begin(), heap.end(), larger);
        heap.pop_back();
      }
      // relaxed: EmptiesAt has ordered it.
      heap.push_back({bucket.tag.load(std::memory_order_relaxed), at});
      std::push_heap(heap.begin(), heap.end(), larger);
    }
  }
  std::sort_heap(heap.begin(), heap.end(), larger);
  return heap;
}

}  // namespace headgate::engine
