// The orders of refunds of all ledgers of an engine, in fixed memory.
//
// An order matters while permits are out, whose Reports may come in another one than their Checks.
// So there is room by the number of permits, not of buckets: for a note a permit. The notes of a
// bucket are all in one list, which it shares with others by hash.
//
// Thread-safe.
//
//   RefundOrders::List& list = orders.ListOf(key);
//   MutexLock lock(&list.mutex);
//   list.order.Behind(key, place);

#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/mutex.h"
#include "server/decide/engine/refund_order.h"

namespace headgate::engine {

class RefundOrders {
 public:
  explicit RefundOrders(size_t permits)
      : mask_(std::bit_ceil(std::max<size_t>(permits / RefundOrder::kMaxNotes, 1)) - 1),
        lists_(std::make_unique<List[]>(mask_ + 1)) {}

  struct alignas(64) List {
    Mutex mutex;
    RefundOrder order ABSL_GUARDED_BY(mutex);
  };

  // `bucket` is well mixed in its upper half, or the only one of its ledger.
  List& ListOf(uint64_t bucket) { return lists_[(bucket >> 32) & mask_]; }

  // A number that no other ledger has.
  uint32_t NumberLedger() { return ledgers_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  const size_t mask_;
  const std::unique_ptr<List[]> lists_;
  std::atomic<uint32_t> ledgers_{0};
};

}  // namespace headgate::engine
