#include "server/engine/permit_holders.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "server/engine/saved_state.h"

namespace headgate::engine {
namespace {

// An eighth, or less where a holder may have nearly all.
int64_t KeptOf(int64_t capacity, double max_share) {
  return static_cast<int64_t>(static_cast<double>(capacity) *
                              std::min(1.0 / 8, (1 - max_share) / 2));
}

// All together as many as half of what is kept.
uint32_t CellsOf(size_t permits) {
  return static_cast<uint32_t>(std::bit_floor(std::clamp<size_t>(permits / 32, 2, 16384)));
}

}  // namespace

PermitHolders::PermitHolders(size_t permits, double max_share)
    : capacity_(static_cast<int64_t>(permits)),
      max_share_(max_share),
      kept_(KeptOf(capacity_, max_share)),
      share_of_rest_(max_share < 1
                         ? max_share / (1 - max_share -
                                        static_cast<double>(kept_) / static_cast<double>(permits))
                         : std::numeric_limits<double>::infinity()),
      own_cells_(CellsOf(permits)),
      home_shift_(63 - std::countr_zero(own_cells_)),
      cells_(std::make_unique<Cell[]>(all_cells())),
      names_(all_cells()) {
  for (const uint64_t kind : {uint64_t{0}, PermitHolder::kCallerBit}) {
    cells_[SharedCell(kind)].word.store(SharedTag(kind), std::memory_order_relaxed);
  }
  Publish(SumUp());
}

PermitHolders::Sums PermitHolders::SumUp() const {
  // relaxed: what others take or release meanwhile is in it or not.
  int64_t taken[2] = {0, 0};
  for (const Stripe& stripe : stripes_) {
    taken[0] += stripe.taken[0].load(std::memory_order_relaxed);
    taken[1] += stripe.taken[1].load(std::memory_order_relaxed);
  }
  Sums sums;
  sums.without_name = taken[0];
  sums.free = std::max<int64_t>(capacity_ - taken[0] - taken[1], 0);
  if (sums.free == 0) return sums;
  constexpr int64_t kSmallPart = 256;
  sums.limit = 1 + std::max<int64_t>(sums.free - kept_ / 2, 0) / kSmallPart;
  if (sums.free > kept_) {
    const double most = share_of_rest_ * static_cast<double>(sums.free - kept_);
    constexpr auto kMost = static_cast<double>(kCountMask);
    sums.limit = std::max(sums.limit, static_cast<int64_t>(std::min(most, kMost)));
  }
  const bool with_callers = limits_.any_caller.load(std::memory_order_relaxed);
  sums.limit_without_name = with_callers && sums.without_name >= sums.limit ? 1 : sums.limit;
  return sums;
}

void PermitHolders::Publish(const Sums& sums) {
  // So seldom that all stripes together take no more than a 16th of what is free in between.
  constexpr int64_t kMost = 256;
  const auto between =
      static_cast<uint64_t>(std::clamp<int64_t>(sums.free / (int64_t{16} * kStripes), 1, kMost));
  // All threads read these: they are written where they differ only.
  const auto set = [](std::atomic<uint64_t>& to, uint64_t value) {
    if (to.load(std::memory_order_relaxed) != value) to.store(value, std::memory_order_relaxed);
  };
  for (const bool is_caller : {false, true}) {
    Limits::Of& of = limits_.of[is_caller ? 1 : 0];
    set(of.limit, sums.LimitOf(is_caller));
    set(of.between_sums, std::bit_floor(between) - 1);
  }
}

bool PermitHolders::TakeAt(uint32_t place, uint64_t tag, uint64_t limit) {
  Cell& cell = cells_[place];
  uint64_t word = cell.word.load(std::memory_order_relaxed);
  while ((word & ~kCountMask) == tag && (word & kCountMask) < limit) {
    if (cell.word.compare_exchange_weak(word, word + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

uint16_t PermitHolders::TakeOtherwise(const PermitHolder& holder, int64_t now_ns, uint32_t stripe,
                                      uint64_t turn) {
  const uint64_t tag = TagOf(holder.key);
  const Limits::Of& limits = limits_.of[tag >> 63];
  uint32_t place = FindTag(tag);  // perhaps behind another's
  const bool is_turn = (turn & limits.between_sums.load(std::memory_order_relaxed)) == 0;
  if (is_turn || place == kNone ||
      !TakeAt(place, tag, limits.limit.load(std::memory_order_relaxed))) {
    place = CellFor(holder, now_ns);
    const Sums sums = SumUp();
    Publish(sums);
    const uint64_t counted_as = place == SharedCell(tag) ? SharedTag(tag) : tag;
    // A cell that was taken over just now, for want of permits, is as good as none.
    if (!TakeAt(place, counted_as, sums.LimitOf(holder.is_caller()))) return kNone;
  }
  cells_[place].last_at_ns.store(now_ns, std::memory_order_relaxed);
  Count(tag, stripe, 1);
  return static_cast<uint16_t>(place);
}

uint16_t PermitHolders::FindTag(uint64_t tag) const {
  for (uint32_t i = 0; i < window(); ++i) {
    const uint32_t place = Nth(tag, i);
    const uint64_t word = cells_[place].word.load(std::memory_order_relaxed);
    if ((word & ~kCountMask) == tag) return static_cast<uint16_t>(place);
  }
  return kNone;
}

uint16_t PermitHolders::Find(const PermitHolder& holder) const {
  return FindTag(TagOf(holder.key));
}

bool PermitHolders::IsFree(const Cell& cell, int64_t now_ns) {
  const uint64_t word = cell.word.load(std::memory_order_relaxed);
  if (word == 0) return true;
  return (word & kCountMask) == 0 &&
         cell.last_at_ns.load(std::memory_order_relaxed) + kKeptNs < now_ns;
}

uint32_t PermitHolders::CellFor(const PermitHolder& holder, int64_t now_ns) {
  const uint64_t tag = TagOf(holder.key);
  const uint16_t known = FindTag(tag);
  if (known != kNone) return known;
  if (holder.is_caller() && !limits_.any_caller.load(std::memory_order_relaxed)) {
    limits_.any_caller.store(true, std::memory_order_relaxed);
  }
  // Without the lock, so that a flood of names that find no cell waits for nobody.
  uint32_t i = 0;
  while (i < window() && !IsFree(cells_[Nth(tag, i)], now_ns)) ++i;
  if (i == window()) return SharedCell(tag);
  MutexLock lock(&names_mutex_);
  // One at a time, or a holder could come to have two.
  const uint16_t since = FindTag(tag);
  if (since != kNone) return since;
  for (; i < window(); ++i) {
    const uint32_t place = Nth(tag, i);
    Cell& cell = cells_[place];
    uint64_t word = cell.word.load(std::memory_order_relaxed);
    if (!IsFree(cell, now_ns) || (word & kCountMask) != 0) continue;
    if (!cell.word.compare_exchange_strong(word, tag, std::memory_order_relaxed)) continue;
    cell.last_at_ns.store(now_ns, std::memory_order_relaxed);
    cell.turned_away.store(0, std::memory_order_relaxed);
    const std::string_view name =
        holder.is_caller() ? holder.name : holder.name.substr(holder.name.rfind(':') + 1);
    names_[place] = name.substr(0, kMaxNameBytes);
    return place;
  }
  return SharedCell(tag);
}

PermitHolders::Standing PermitHolders::StandingOf(const PermitHolder& holder) const {
  const uint16_t known = Find(holder);
  const uint32_t place = known != kNone ? known : SharedCell(holder.key);
  const Sums sums = SumUp();
  Standing standing;
  standing.permits =
      static_cast<int64_t>(cells_[place].word.load(std::memory_order_relaxed) & kCountMask);
  standing.limit = sums.limit;
  standing.table_full = sums.free == 0;
  if (!holder.is_caller()) standing.limit = sums.limit_without_name;
  standing.may_take = standing.permits < standing.limit;
  return standing;
}

PermitHolders::Standing PermitHolders::TurnAway(const PermitHolder& holder) {
  const uint16_t known = Find(holder);
  const uint32_t place = known != kNone ? known : SharedCell(holder.key);
  cells_[place].turned_away.fetch_add(1, std::memory_order_relaxed);
  turned_away_.fetch_add(1, std::memory_order_relaxed);
  Standing standing = StandingOf(holder);
  // Others may have released some since it was refused.
  standing.permits = std::max(standing.permits, standing.limit);
  return standing;
}

int64_t PermitHolders::RoomForOne() const {
  // Its own permits make what is free less: x = share_of_rest * (rest - x).
  const Sums sums = SumUp();
  const auto rest = static_cast<double>(std::max<int64_t>(sums.free - kept_, 0));
  const double part = max_share_ < 1 ? share_of_rest_ / (1 + share_of_rest_) : 1;
  return std::max(static_cast<int64_t>(rest * part), std::min<int64_t>(sums.limit, 1));
}

std::vector<PermitHolderView> PermitHolders::Top(size_t most) const {
  std::vector<PermitHolderView> all;
  {
    MutexLock lock(&names_mutex_);
    for (uint32_t place = 0; place < all_cells(); ++place) {
      const uint64_t word = cells_[place].word.load(std::memory_order_relaxed);
      PermitHolderView view{.name = names_[place], .is_caller = word >> 63 != 0};
      view.permits = static_cast<int64_t>(word & kCountMask);
      view.turned_away = cells_[place].turned_away.load(std::memory_order_relaxed);
      if (view.permits != 0 || view.turned_away != 0) all.push_back(std::move(view));
    }
  }
  std::sort(all.begin(), all.end(), [](const PermitHolderView& a, const PermitHolderView& b) {
    if (a.permits != b.permits) return a.permits > b.permits;
    if (a.turned_away != b.turned_away) return a.turned_away > b.turned_away;
    return a.name < b.name;
  });
  if (all.size() > most) all.resize(most);
  return all;
}

uint64_t PermitHolders::SavedKeyOf(uint16_t cell) const {
  if (cell >= all_cells()) return 0;
  // relaxed: the caller holds one of its count, or finds out that nobody does.
  return cells_[cell].word.load(std::memory_order_relaxed) & ~kCountMask;
}

void PermitHolders::SaveNames(std::vector<SavedHolder>& names) const {
  names.clear();
  MutexLock lock(&names_mutex_);
  for (uint32_t place = 0; place < all_cells(); ++place) {
    const uint64_t word = cells_[place].word.load(std::memory_order_relaxed);
    if ((word & kCountMask) == 0 || names_[place].empty()) continue;
    names.push_back({.key = SavedKeyOf(static_cast<uint16_t>(place)), .name = names_[place]});
  }
}

uint16_t PermitHolders::Restore(uint64_t saved_key, int64_t now_ns, bool counts) {
  const uint64_t tag = TagOf(saved_key);
  const uint32_t place =
      tag == SharedTag(tag) ? SharedCell(tag) : CellFor({.key = saved_key, .name = {}}, now_ns);
  cells_[place].word.fetch_add(1, std::memory_order_relaxed);
  cells_[place].last_at_ns.store(now_ns, std::memory_order_relaxed);
  if (counts) Count(tag, 0, 1);
  Publish(SumUp());
  return static_cast<uint16_t>(place);
}

void PermitHolders::RestoreNames(const std::vector<SavedHolder>& names) {
  MutexLock lock(&names_mutex_);
  for (const SavedHolder& saved : names) {
    const uint16_t place = FindTag(TagOf(saved.key));
    if (place != kNone) names_[place] = saved.name.substr(0, kMaxNameBytes);
  }
}

}  // namespace headgate::engine
