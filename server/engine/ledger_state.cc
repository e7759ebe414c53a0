#include <algorithm>
#include <bit>
#include <utility>

#include "server/engine/ledger.h"
#include "server/engine/saved_state.h"

namespace headgate::engine {
namespace {

constexpr uint64_t kMaxStripes = 64;

}  // namespace

bool Ledger::IsStripes(uint64_t count) {
  return count <= kMaxStripes && std::has_single_bit(count);
}

void Ledger::Save(int64_t clock_ns, SavedLedger& saved) const {
  saved.ns_per_unit = axis_.ns_per_unit;
  saved.is_auto = axis_.is_auto;
  saved.split = split_;
  saved.version = version_;
  saved.lineage = lineage_;
  saved.opened_at_ns = opened_at_ns_;
  saved.origin_version = origin_.version;
  saved.origin_then_ns = origin_.then_ns;
  saved.origin_now_ns = origin_.now_ns;
  saved.origin_scale = origin_.scale;
  saved.origin_stripes = static_cast<uint32_t>(origin_.refunded_ns.size());
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

Ledger::Ledger(Axis axis, const SavedLedger& saved)
    : Ledger(std::move(axis), saved.table.lines.size() * BucketTable::kWays, saved.split,
             saved.version) {
  lineage_ = saved.lineage;
  opened_at_ns_ = saved.opened_at_ns;
  origin_ = {.version = saved.origin_version,
             .then_ns = saved.origin_then_ns,
             .now_ns = saved.origin_now_ns,
             .scale = saved.origin_scale,
             .refunded_ns = std::vector<int64_t>(saved.origin_stripes)};
  single_.empties_at.store(saved.empties_at_ns, std::memory_order_relaxed);
  if (table_ != nullptr) table_->Restore(saved.table);
}

int64_t Ledger::RefundedSince(uint64_t version, uint64_t tag, int64_t refunded_ns) const {
  constexpr int64_t kMax = VirtualClock::kHorizonNs;
  int64_t total = 0;
  if (version >= version_) {
    total = Refunded(tag);
  } else if (origin_.version != 0 && version >= origin_.version) {
    total = origin_.refunded_ns[tag & (origin_.refunded_ns.size() - 1)];
  } else {
    return 0;  // nothing is refunded across two moves
  }
  // A count may wrap around, a difference does not.
  const uint64_t since = static_cast<uint64_t>(total) - static_cast<uint64_t>(refunded_ns);
  return std::clamp<int64_t>(static_cast<int64_t>(since), 0, kMax);
}

}  // namespace headgate::engine
