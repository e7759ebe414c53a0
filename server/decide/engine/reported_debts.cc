#include "server/decide/engine/reported_debts.h"

#include "server/decide/engine/saved_state.h"

namespace headgate::engine {

void ReportedDebts::Note(uint64_t key, const Entry& entry) {
  Place& place = places_[PlaceOf(key)];
  MutexLock lock(&LockOf(PlaceOf(key)));
  place.entry = entry;
  // relaxed: Find reads the entry under the lock.
  place.key.store(key, std::memory_order_relaxed);
}

std::optional<ReportedDebts::Entry> ReportedDebts::Find(uint64_t key) const {
  const Place& place = places_[PlaceOf(key)];
  // relaxed: most denials find nothing here, and take no lock for it.
  if (place.key.load(std::memory_order_relaxed) != key) return std::nullopt;
  MutexLock lock(&LockOf(PlaceOf(key)));
  if (place.key.load(std::memory_order_relaxed) != key) return std::nullopt;
  return place.entry;
}

void ReportedDebts::Forget(uint64_t key) {
  Place& place = places_[PlaceOf(key)];
  MutexLock lock(&LockOf(PlaceOf(key)));
  if (place.key.load(std::memory_order_relaxed) == key) {
    place.key.store(0, std::memory_order_relaxed);
  }
}

void ReportedDebts::Save(SavedState& state) const {
  state.reported_debts.clear();
  for (size_t i = 0; i < kPlaces; ++i) {
    MutexLock lock(&LockOf(i));
    const uint64_t key = places_[i].key.load(std::memory_order_relaxed);
    if (key == 0) continue;
    state.reported_debts.push_back({.key = key,
                                    .reported_at_ns = places_[i].entry.reported_at_ns,
                                    .reported = places_[i].entry.reported});
  }
}

void ReportedDebts::Restore(const SavedState& state) {
  for (const SavedReportedDebt& saved : state.reported_debts) {
    Note(saved.key, {.reported_at_ns = saved.reported_at_ns, .reported = saved.reported});
  }
}

}  // namespace headgate::engine
