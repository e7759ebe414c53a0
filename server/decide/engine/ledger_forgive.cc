// Forgiving what a bucket owes.
//
// What is taken back counts as refunded in front of every charge: a permit that was charged before
// then finds that its charge has drained, and its Report takes nothing from whoever came later.

#include <algorithm>

#include "server/decide/engine/ledger.h"

namespace headgate::engine {

int64_t Ledger::Forgive(uint64_t tag, int64_t now_ns, int64_t most_ns) {
  MutexLock lock(&orders_.ListOf(OrderKeyOf(tag)).mutex);  // as for any refund
  for (;;) {
    Bucket* const bucket = table_ == nullptr ? &single_ : table_->FindOrInsert(tag, now_ns);
    if (bucket == nullptr) return -1;
    LockedBucket locked(*bucket);
    if (locked.moved()) return -1;
    if (locked.tag() != tag) continue;  // evicted in between
    const int64_t owed_ns = std::min(locked.empties_at_ns() - now_ns, most_ns);
    if (owed_ns <= 0) return 0;
    locked.Refund(owed_ns, LockedBucket::Behind::kSomebody);
    return owed_ns;
  }
}

}  // namespace headgate::engine
