#include "server/decide/engine/holder_cells.h"

#include <bit>
#include <utility>

#include "server/decide/engine/saved_state.h"

namespace headgate::engine {
namespace {

// All together as many as half of what is kept for those who have few permits.
uint32_t CellsOf(size_t permits) {
  return static_cast<uint32_t>(std::bit_floor(std::clamp<size_t>(permits / 32, 2, 16384)));
}

}  // namespace

HolderCells::HolderCells(size_t permits)
    : own_cells_(CellsOf(permits)),
      home_shift_(63 - std::countr_zero(own_cells_)),
      cells_(std::make_unique<Cell[]>(all_cells())),
      names_(all_cells()) {
  for (const uint64_t kind : {uint64_t{0}, PermitHolder::kCallerBit}) {
    cells_[SharedCell(kind)].word.store(SharedTag(kind), std::memory_order_relaxed);
  }
}

bool HolderCells::TakeAt(uint16_t cell, uint64_t tag, uint64_t limit) {
  std::atomic<uint64_t>& word = cells_[cell].word;
  uint64_t before = word.load(std::memory_order_relaxed);
  while ((before & ~kMaxCount) == tag && (before & kMaxCount) < limit) {
    if (word.compare_exchange_weak(before, before + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void HolderCells::Restore(uint16_t cell, int64_t now_ns) {
  cells_[cell].word.fetch_add(1, std::memory_order_relaxed);
  Touch(cell, now_ns);
}

uint16_t HolderCells::Find(uint64_t tag) const {
  for (uint32_t i = 0; i < window(); ++i) {
    const uint32_t place = Nth(tag, i);
    const uint64_t word = cells_[place].word.load(std::memory_order_relaxed);
    if ((word & ~kMaxCount) == tag) return static_cast<uint16_t>(place);
  }
  return kNone;
}

bool HolderCells::IsFree(const Cell& cell, int64_t now_ns) {
  const uint64_t word = cell.word.load(std::memory_order_relaxed);
  if (word == 0) return true;
  return (word & kMaxCount) == 0 &&
         cell.last_at_ns.load(std::memory_order_relaxed) + kKeptNs < now_ns;
}

uint16_t HolderCells::CellFor(const PermitHolder& holder, int64_t now_ns) {
  const uint64_t tag = TagOf(holder.key);
  const uint16_t known = Find(tag);
  if (known != kNone) return known;
  // Without the lock, so that a flood of names that find no cell waits for nobody.
  uint32_t i = 0;
  while (i < window() && !IsFree(cells_[Nth(tag, i)], now_ns)) ++i;
  if (i == window()) return SharedCell(tag);
  MutexLock lock(&names_mutex_);
  // One at a time, or a holder could come to have two.
  const uint16_t since = Find(tag);
  if (since != kNone) return since;
  for (; i < window(); ++i) {
    const uint32_t place = Nth(tag, i);
    Cell& cell = cells_[place];
    uint64_t word = cell.word.load(std::memory_order_relaxed);
    if (!IsFree(cell, now_ns) || (word & kMaxCount) != 0) continue;
    if (!cell.word.compare_exchange_strong(word, tag, std::memory_order_relaxed)) continue;
    cell.last_at_ns.store(now_ns, std::memory_order_relaxed);
    cell.turned_away.store(0, std::memory_order_relaxed);
    const std::string_view name =
        holder.is_caller() ? holder.name : holder.name.substr(holder.name.rfind(':') + 1);
    names_[place] = name.substr(0, kMaxNameBytes);
    return static_cast<uint16_t>(place);
  }
  return SharedCell(tag);
}

std::vector<PermitHolderView> HolderCells::Top(size_t most) const {
  std::vector<PermitHolderView> all;
  {
    MutexLock lock(&names_mutex_);
    for (uint32_t place = 0; place < all_cells(); ++place) {
      const uint64_t word = cells_[place].word.load(std::memory_order_relaxed);
      PermitHolderView view{.name = names_[place], .is_caller = IsCallers(word)};
      view.permits = static_cast<int64_t>(word & kMaxCount);
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

uint64_t HolderCells::SavedKeyOf(uint16_t cell) const {
  if (cell >= all_cells()) return 0;
  // relaxed: the caller holds one of its count, or finds out that nobody does.
  return cells_[cell].word.load(std::memory_order_relaxed) & ~kMaxCount;
}

void HolderCells::SaveNames(std::vector<SavedHolder>& names) const {
  names.clear();
  MutexLock lock(&names_mutex_);
  for (uint32_t place = 0; place < all_cells(); ++place) {
    const uint64_t word = cells_[place].word.load(std::memory_order_relaxed);
    if ((word & kMaxCount) == 0 || names_[place].empty()) continue;
    names.push_back({.key = SavedKeyOf(static_cast<uint16_t>(place)), .name = names_[place]});
  }
}

void HolderCells::RestoreNames(const std::vector<SavedHolder>& names) {
  MutexLock lock(&names_mutex_);
  for (const SavedHolder& saved : names) {
    const uint16_t place = Find(TagOf(saved.key));
    if (place != kNone) names_[place] = saved.name.substr(0, kMaxNameBytes);
  }
}

}  // namespace headgate::engine
