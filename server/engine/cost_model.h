// Predicted cost: what a job's or a planner's estimate is really worth.
//
// For each pattern, and for each target as a whole, two moving averages weighted to recent values:
// of estimates and of actual costs. Their ratio is k; predicted = estimate x k. A pattern that was
// never reported uses its target's k, and 1 where there is none. Without an estimate the pattern's
// mean actual cost stands in, if it has one.
//
// An average over its first n values is their mean while n < 8, then each new value weighs 1/8.
// Averages are kept in single precision: a prediction is exact to one part in ten million.
//
// The table has a fixed size. Where a set of four patterns is full, the one that has had no report
// for longest gives way.
//
// Thread-safe. Predict takes no lock; Learn locks one stripe.
// Source: the ratio of two averages is how PlanetScale's Traffic Control corrects planner costs.

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/mutex.h"
#include "server/engine/spec.h"

namespace headgate::engine {

struct SavedState;

class CostModel {
 public:
  // Room for at least `patterns` patterns; targets are kept in the same table.
  explicit CostModel(size_t patterns);
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  // An estimate that was not given, and a prediction that cannot be made.
  static constexpr double kNone = -1;

  // Keys are well-mixed hashes; `pattern` 0: the Check named none. kNone: nothing is known and
  // there is no estimate, so the budget's default applies. Never above kMaxAmount (spec.h).
  double Predict(uint64_t target, uint64_t pattern, double estimate) const {
    Published known;
    const bool pattern_known = pattern != 0 && Read(pattern, known);
    if (estimate < 0) return pattern_known ? static_cast<double>(known.mean_actual) : kNone;
    // A ratio that is not known is NaN and differs from itself.
    if ((pattern_known && known.ratio == known.ratio) ||
        (Read(target, known) && known.ratio == known.ratio)) {
      const double predicted = estimate * static_cast<double>(known.ratio);
      return predicted < kMaxAmount ? predicted : kMaxAmount;
    }
    return estimate;
  }

  // Teaches what a Check with this estimate, or kNone, really cost. Both must be valid.
  void Learn(uint64_t target, uint64_t pattern, double estimate, double actual);

  // For Engine::Save; holds the lock of one set of four at a time.
  void Save(SavedState& state) const;
  // Into a model that has learnt nothing yet, which may be smaller.
  void Restore(const SavedState& state);

  // k of a pattern or a target, if it has one.
  std::optional<double> Ratio(uint64_t key) const;

 private:
  static constexpr int kWays = 4;
  static constexpr int kStripes = 64;

  // What Predict reads, in one word: NaN where unknown.
  struct Published {
    float ratio;
    float mean_actual;
  };
  struct Average {
    float value = 0;
    uint32_t count = 0;
    void Add(double sample);
  };
  struct Cell {
    std::atomic<uint64_t> key{0};
    std::atomic<uint64_t> published{0};
    // Under the stripe's lock.
    Average estimate;  // of Checks that had one
    Average actual;    // of the same Checks
    Average mean;      // of all actual costs
    uint64_t learnt_at = 0;
  };
  struct Set {
    std::array<Cell, kWays> ways;
  };

  Set& SetOf(uint64_t key) const { return sets_[(key >> 20) & mask_]; }
  bool Read(uint64_t key, Published& known) const {
    for (const Cell& cell : SetOf(key).ways) {
      // acquire: the word was published after the key.
      if (cell.key.load(std::memory_order_acquire) != key) continue;
      known = std::bit_cast<Published>(cell.published.load(std::memory_order_acquire));
      // The same key still: the word is not a newcomer's.
      return cell.key.load(std::memory_order_relaxed) == key;
    }
    return false;
  }
  void LearnOne(uint64_t key, double estimate, double actual);
  static uint64_t PublishedOf(const Cell& cell);

  std::unique_ptr<Set[]> sets_;
  uint64_t mask_;
  std::atomic<uint64_t> reports_{0};
  mutable std::array<Mutex, kStripes> locks_;
};

}  // namespace headgate::engine
