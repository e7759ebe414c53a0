#include <algorithm>
#include <utility>

#include "server/decide/engine/ledger.h"
#include "server/decide/engine/saved_state.h"
#include "server/decide/engine/saved_target.h"

namespace headgate::engine {
void Ledger::Save(int64_t clock_ns, SavedLedger& saved) const {
  saved.ns_per_unit = axis_.ns_per_unit;
  saved.is_auto = axis_.is_auto;
  saved.unit = axis_.unit;
  saved.overruns = overruns();
  saved.overrun_sum = overrun_sum();
  saved.split = split_;
  saved.version = version_;
  saved.lineage = lineage_;
  saved.opened_at_ns = opened_at_ns_;
  saved.unknown_before = unknown_before_;
  saved.origins.clear();
  for (const Origin& origin : origins_) {
    saved.origins.push_back({.version = origin.version,
                             .then_ns = origin.then_ns,
                             .now_ns = origin.now_ns,
                             .scale = origin.scale,
                             .drained_at_ns = origin.drained_at_ns});
  }
  saved.empties_at_ns = 0;
  if (table_ != nullptr) {
    table_->Save(Now(clock_ns), saved.table);
    return;
  }
  saved.table.lines.clear();
  saved.table.buckets.clear();
  const int64_t at = single_.EmptiesAt();
  if (at > Now(clock_ns) && at != Bucket::kMoved) saved.empties_at_ns = at;
}

Ledger::Ledger(Axis axis, const SavedLedger& saved, RefundOrders& orders)
    : Ledger(std::move(axis),
             Layout{.buckets = saved.table.lines.size() * BucketTable::kWays,
                    .split = saved.split,
                    .version = saved.version},
             orders) {
  lineage_ = saved.lineage;
  opened_at_ns_ = saved.opened_at_ns;
  unknown_before_ = saved.unknown_before;
  for (const SavedOrigin& origin : saved.origins) {
    origins_.push_back({.version = origin.version,
                        .then_ns = origin.then_ns,
                        .now_ns = origin.now_ns,
                        .scale = origin.scale,
                        .drained_at_ns = origin.drained_at_ns});
  }
  single_.empties_at.store(saved.empties_at_ns, std::memory_order_relaxed);
  overruns_.store(saved.overruns, std::memory_order_relaxed);
  overrun_sum_.store(saved.overrun_sum, std::memory_order_relaxed);
  if (table_ != nullptr) table_->Restore(saved.table);
}

int64_t Ledger::RefundedSince(uint64_t version, const Charged& charged) const {
  // Nothing of it is refunded any more.
  if (version < version_ && FirstMoveSince(version) == origins_.end()) return 0;
  const uint64_t key = OrderKeyOf(charged.tag);
  RefundOrders::List& list = orders_.ListOf(key);
  MutexLock lock(&list.mutex);
  int64_t behind_ns = 0;
  if (version >= version_ && KnowsOrder(charged)) {
    behind_ns = list.order.Behind(key, PlaceOf(charged));
  }
  bool evicted = false;
  // acquire: a count belongs to the time that was saved before.
  const int64_t total = table_ != nullptr ? table_->RefundedTo(charged.tag, evicted)
                                          : single_.refunded.load(std::memory_order_acquire);
  const int64_t since_ns = std::max<int64_t>(TotalSince(total, charged.refunded_ns) - behind_ns, 0);
  // Its bucket will be another one after the restart, and its order not known: see the stamp.
  if (evicted) return std::clamp<int64_t>(since_ns, 1, Bucket::kHorizonNs);
  return std::min(since_ns, Bucket::kHorizonNs);
}

Ledger::Adopted Ledger::Adopt(const SavedDebts* saved, int64_t least_ns, int64_t burst_ns,
                              int64_t real_now_ns) {
  Adopted adopted{.now_ns = Now(clock().Read(real_now_ns).virtual_ns)};
  static const SavedDebts nothing;
  const SavedDebts& owed = saved != nullptr ? *saved : nothing;
  const bool same_unit = saved != nullptr && owed.unit == axis_.unit;
  if (same_unit) {
    adopted.scale = axis_.ns_per_unit / owed.ns_per_unit;
  } else {
    adopted.scale = axis_.UsualSpeed() / (owed.is_auto ? kAutoSpeed : 1);
  }
  const auto here = [&](int64_t owed_ns) {
    const int64_t span_ns = std::min(same_unit ? kMaxSpanNs : burst_ns,
                                     ToNs(static_cast<double>(owed_ns), adopted.scale));
    const int64_t most_ns = std::max(span_ns, least_ns);
    return most_ns == 0 ? 0 : adopted.now_ns + most_ns;
  };
  const bool alike = saved != nullptr && owed.split == split_ &&
                     owed.table.lines.size() * BucketTable::kWays == capacity();
  adopted.knows_places = alike && same_unit;
  if (alike && table_ != nullptr) {
    table_->Overwrite(owed.table, here);
    return adopted;
  }
  int64_t largest_ns = std::max(owed.owed_ns, owed.table.filled_until_ns);
  for (const SavedBucket& bucket : owed.table.buckets) {
    largest_ns = std::max(largest_ns, bucket.empties_at_ns);
  }
  if (table_ != nullptr) {
    SavedTable empty;
    empty.lines.resize(capacity() / BucketTable::kWays);
    table_->Overwrite(empty, [&](int64_t) { return here(largest_ns); });
  } else {
    // relaxed: nobody decides by it meanwhile.
    single_.refunded.store(0, std::memory_order_relaxed);
    single_.empties_at.store(here(largest_ns), std::memory_order_release);
  }
  return adopted;
}

// With nothing refunded in front of it since, its place is where it ended. Otherwise that may be
// behind its place, and the order is not known.
int64_t Ledger::StampAfterRestart(int64_t refunded_since_ns) {
  if (refunded_since_ns == 0) return 0;
  return AddToTotal(0, -refunded_since_ns) | kOrderUnknown;
}

}  // namespace headgate::engine
