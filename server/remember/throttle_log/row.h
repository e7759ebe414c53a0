// What the throttle log counts: Checks, by who asked, what became of it and what did it; and how
// long they waited, by what they waited for.
//
// Names, not places: a row outlives the policy that it was counted under. Plain data,
// thread-compatible.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "server/decide/engine/cause.h"
#include "server/decide/line/waits.h"

namespace headgate::throttle_log {

using engine::Cause;
using engine::CauseView;
using Outcome = engine::CheckOutcome;
using line::Waits;

struct RowKey {
  std::string target = {};  // empty: the nameless one
  // Where the table was full, the level that it was counted under; "*": none.
  std::string identity = {};
  bool folded = false;  // counted under a level above the identity that asked
  // Which of several servers decided; empty: one that shares its targets with nobody.
  std::string server = {};
  Outcome outcome = Outcome::kAllowed;
  Cause cause = {};

  // NOLINTNEXTLINE(modernize-use-nullptr): likewise.
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};

// Absent in most rows, and then of a pointer's size.
class OptionalWaits {
 public:
  OptionalWaits() = default;
  OptionalWaits(const OptionalWaits& other) { *this = other; }
  OptionalWaits(OptionalWaits&&) = default;
  ~OptionalWaits() = default;
  OptionalWaits& operator=(OptionalWaits&&) = default;
  OptionalWaits& operator=(const OptionalWaits& other) {
    if (this != &other) waits_ = other.waits_ ? std::make_unique<Waits>(*other.waits_) : nullptr;
    return *this;
  }

  // Null: there are none.
  const Waits* get() const { return waits_.get(); }
  // As of none where there are none.
  const Waits& value() const {
    static constexpr Waits kNone;
    return waits_ == nullptr ? kNone : *waits_;
  }
  void Add(const Waits& more) {
    if (waits_ == nullptr) waits_ = std::make_unique<Waits>();
    waits_->Add(more);
  }
  void Add(const OptionalWaits& more) {
    if (more.waits_ != nullptr) Add(*more.waits_);
  }

 private:
  std::unique_ptr<Waits> waits_;
};

// Of rows whose outcome is kWaited `waits` alone, with the peak and the limit of what was waited
// for; of all others, all but that.
struct Counts {
  int64_t checks = 0;
  double cost = 0;  // predicted, cost units
  // The highest observed, in the signal's unit where there is a signal, else in the limit's.
  double peak = 0;
  // What the peak was compared with: the signal's hard threshold, or the limit. 0, as the peak:
  // nothing can be told, for want of a sample or of thresholds.
  double limit = 0;
  OptionalWaits waits = {};

  void Add(const Counts& other) {
    checks += other.checks;
    cost += other.cost;
    waits.Add(other.waits);
    if (other.peak > peak || limit == 0) std::tie(peak, limit) = std::pair(other.peak, other.limit);
  }
};

struct Row {
  int64_t step_s = 0;    // its beginning, seconds since the Unix epoch; a multiple of length_s
  int32_t length_s = 0;  // of the step
  RowKey key;
  Counts counts;
};

}  // namespace headgate::throttle_log
