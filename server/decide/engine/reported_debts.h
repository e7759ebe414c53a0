// Which Report left a bucket with more debt than its burst, so that a denial long after can say to
// what it is due.
//
// Fixed memory: one place for each hash, the newest Report wins. What is not found is not known any
// more.
//
// Thread-safe.
//
//   debts.Note(ConcurrencyKeyOf(budget, tag), now.wall_ns, 1000);

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/mutex.h"

namespace headgate::engine {

struct SavedState;

class ReportedDebts {
 public:
  struct Entry {
    int64_t reported_at_ns = 0;  // wall
    double reported = 0;         // in the budget's unit
  };

  ReportedDebts() = default;
  ReportedDebts(const ReportedDebts&) = delete;
  ReportedDebts& operator=(const ReportedDebts&) = delete;

  // `key` names the bucket; any but 0.
  void Note(uint64_t key, const Entry& entry);
  std::optional<Entry> Find(uint64_t key) const;
  void Forget(uint64_t key);

  void Save(SavedState& state) const;
  void Restore(const SavedState& state);

 private:
  static constexpr size_t kPlaces = 1024;
  static constexpr size_t kStripes = 16;

  struct Place {
    std::atomic<uint64_t> key{0};
    Entry entry;  // under the stripe's lock
  };

  static size_t PlaceOf(uint64_t key) { return (key >> 8) % kPlaces; }
  Mutex& LockOf(size_t place) const { return locks_[place % kStripes]; }

  std::array<Place, kPlaces> places_;
  mutable std::array<Mutex, kStripes> locks_;
};

}  // namespace headgate::engine
