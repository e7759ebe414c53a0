// Predicted cost and busy time: what a job's or a planner's estimate is really worth.
//
// What Reports teach (learnt_measure.h) is kept for each pattern, and for all work of a root
// identity together, and in both cases for each caller by itself where one is named: nobody's
// predictions move with what somebody else reports. Predicted = estimate x ratio; a pattern that
// was never reported uses its root's ratio. Without an estimate the pattern's mean stands in.
//
// The table has a fixed size. Where a set of four is full, its newcomer takes the place of the one
// of its own owner that has had no report for longest; else of one whose owner has several there;
// else of any: a flood of patterns pushes out its owner's own first.
//
// Names are kept for those who list what was learnt. A Check that meets something unknown, or
// nameless, notes its names (NoteNames), where the Report that teaches it finds them.
//
// Thread-safe. Predictions take no lock; Learn locks one stripe.

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/hash.h"
#include "common/held_bytes.h"
#include "common/mutex.h"
#include "server/decide/engine/cost_names.h"
#include "server/decide/engine/learnt_measure.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

struct SavedState;

// Whose work it is: well-mixed hashes of each part by itself.
struct CostSubject {
  uint64_t target = 0;
  uint64_t root = 0;
  uint64_t caller = 0;   // 0: nobody is named, or callers share what is learnt
  uint64_t pattern = 0;  // 0: the work has none

  uint64_t Owner() const {
    const uint64_t of_all = CombineHash(target, root);
    return (caller == 0 ? of_all : CombineHash(of_all, caller)) | 1;
  }
  static uint64_t PatternKey(uint64_t owner, uint64_t pattern) {
    return pattern == 0 ? 0 : CombineHash(owner, pattern) | 1;
  }
};

class CostModel {
 public:
  // Room for at least `patterns` patterns; roots are kept in the same table.
  explicit CostModel(size_t patterns);
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  // An estimate that was not given, and a prediction that cannot be made.
  static constexpr double kNone = -1;

  // What Checks read of one pattern or root, four to two cache lines.
  struct Cell {
    std::atomic<uint64_t> key{0};
    std::atomic<uint64_t> cost{0};  // see Published
    std::atomic<uint64_t> busy{0};
    // Monotonic; when a Check may next be let through though its prediction never would be.
    std::atomic<int64_t> next_probe_ns{0};
  };

  struct Prediction {
    double value = kNone;
    Cell* by = nullptr;     // what was learnt there says so; null: nothing was learnt
    bool by_ratio = false;  // it is in proportion to the estimate
    bool unnamed = false;   // see NoteNames
  };
  // `owner` and `pattern` are keys, `pattern` 0 where the Check named none. Of nothing that is
  // known the estimate itself is predicted; kNone where there is none. Never above kMaxAmount
  // (spec.h).
  Prediction PredictCost(uint64_t owner, uint64_t pattern, double estimate) const {
    Published known;
    Prediction prediction;
    Cell* const of_pattern = pattern == 0 ? nullptr : Read(pattern, &Cell::cost, known);
    prediction.unnamed = of_pattern == nullptr || known.nameless();
    if (estimate < 0) [[unlikely]] {
      if (of_pattern == nullptr || !known.has_mean()) return prediction;
      prediction.by = of_pattern;
      prediction.value = known.mean();
      return prediction;
    }
    prediction.value = estimate;
    if (of_pattern != nullptr && known.has_ratio()) {
      prediction.by = of_pattern;
    } else {
      Cell* const of_owner = Read(owner, &Cell::cost, known);
      if (pattern == 0) prediction.unnamed = of_owner == nullptr || known.nameless();
      if (of_owner == nullptr || !known.has_ratio()) return prediction;
      prediction.by = of_owner;
    }
    const double predicted = estimate * static_cast<double>(known.ratio);
    prediction.value = predicted < kMaxAmount ? predicted : kMaxAmount;
    return prediction;
  }
  // Busy seconds. kNone: nothing is known. Where no ratio is known, or there is no estimate, a mean
  // stands in: the pattern's, or the root's.
  Prediction PredictBusyTime(uint64_t owner, uint64_t pattern, double estimate) const;

  struct Lesson {
    CostSubject subject;
    double estimate = kNone;
    std::optional<double> cost = {};
    std::optional<double> busy_seconds = {};
    // What the Check was charged; none: nothing, where its budgets only warn.
    std::optional<double> charged_cost = {};
    std::optional<double> charged_busy_seconds = {};
    int64_t wall_ns = 0;
  };
  // Teaches what a Check really cost. All of it must be valid.
  void Learn(const Lesson& lesson);

  // Notes the names of a Check's work, for what Reports will teach.
  void NoteNames(const CostSubject& subject, const CostNames::Names& names);

  // Reports that taught a cell.
  uint64_t ReportsOf(const Cell& cell) const {
    // relaxed: a number for a sentence.
    return details_[PlaceOf(cell)].reports.load(std::memory_order_relaxed);
  }
  // Ratio of a pattern or a root, if it has one.
  std::optional<double> Ratio(uint64_t key) const;

  // One pattern or root, for those who list what was learnt.
  struct Entry {
    CostSubject subject;
    LearntMeasure cost, busy;
    uint64_t reports = 0;
    int64_t reported_at_ns = 0;  // wall
    CostNames::Names names;      // views, valid during the call
  };
  // Holds the lock of one stripe at a time.
  void ForEach(absl::FunctionRef<void(const Entry&)> visit) const;
  // Forgets those for which `is_it` says so.
  void ForgetIf(absl::FunctionRef<bool(const Entry&)> is_it);

  // Of memory, for names: the rest is taken from the start.
  int64_t held_bytes() const { return held_.bytes(); }

  // For Engine::Save; holds the lock of one set of four at a time.
  void Save(SavedState& state) const;
  // Into a model that has learnt nothing yet, which may be smaller.
  void Restore(const SavedState& state);

 private:
  static constexpr int kWays = 4;
  static constexpr int kStripes = 64;

  // A ratio and a mean in one word. The sign of the mean, which is never below 0, says that the
  // cell has no names.
  struct Published {
    float ratio;
    float signed_mean;
    bool has_ratio() const { return ratio == ratio; }  // NaN differs from itself
    bool has_mean() const { return signed_mean == signed_mean; }
    bool nameless() const { return std::bit_cast<uint32_t>(signed_mean) >> 31 != 0; }
    double mean() const { return static_cast<double>(std::fabs(signed_mean)); }
  };
  // Under its stripe's lock, but for `reports`, which a sentence may read.
  struct Details {
    CostSubject subject;
    LearntMeasure cost, busy;
    uint64_t learnt_at = 0;  // a count: what was learnt later has more
    int64_t reported_at_ns = 0;
    std::atomic<uint64_t> reports{0};
    std::unique_ptr<CostNames::Text> names;  // null: not known
  };
  struct alignas(64) Set {
    std::array<Cell, kWays> ways;
  };

  size_t SetOf(uint64_t key) const { return (key >> 20) & mask_; }
  Mutex& LockOf(size_t set) const { return locks_[set & (kStripes - 1)]; }
  size_t PlaceOf(const Cell& cell) const { return static_cast<size_t>(&cell - &sets_[0].ways[0]); }
  Cell* Read(uint64_t key, std::atomic<uint64_t> Cell::*word, Published& known) const {
    for (Cell& cell : sets_[SetOf(key)].ways) {
      // acquire: the word was published after the key.
      if (cell.key.load(std::memory_order_acquire) != key) continue;
      known = std::bit_cast<Published>((cell.*word).load(std::memory_order_acquire));
      // The same key still: the word is not a newcomer's.
      return cell.key.load(std::memory_order_relaxed) == key ? &cell : nullptr;
    }
    return nullptr;
  }
  struct Priors {
    LearntMeasure::Prior cost, busy;
  };
  // `owner`: whose ratios a first Report is held against; 0: nobody's.
  Priors PriorsOf(uint64_t owner, const Lesson& lesson) const;
  void LearnOne(uint64_t key, const CostSubject& subject, const Lesson& lesson,
                const Priors& priors);
  // The cell that `key` has, or gets.
  Cell& ChooseCell(Set& set, uint64_t key, const CostSubject& subject);
  static void Publish(Cell& cell, const Details& details);
  void SetNames(Details& details, std::unique_ptr<CostNames::Text> names);
  Entry EntryOf(const Details& details) const;

  std::unique_ptr<Set[]> sets_;
  std::unique_ptr<Details[]> details_;  // of each cell, in order
  uint64_t mask_;
  std::atomic<uint64_t> reports_{0};
  CostNames noted_;
  HeldBytes held_;
  mutable std::array<Mutex, kStripes> locks_;
};

static_assert(sizeof(CostModel::Cell) == 32);

}  // namespace headgate::engine
