// What the throttle log counts: Checks, by who asked, what became of it and what did it.
//
// Names, not places: a row outlives the policy that it was counted under. Plain data,
// thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "server/decide/engine/answer.h"

namespace headgate::throttle_log {

// Every Check is counted under exactly one.
enum class Outcome : uint8_t {
  kAllowed,
  kWouldBeDenied,  // allowed, but a WARN budget would have denied it
  kDenied,
};

// What denied a Check, or would have. Of several limits the one that asks for the longest wait
// counts, of equals the first. An allowed Check has only a reason.
struct Cause {
  engine::Reason reason = engine::Reason::kNone;
  engine::Limit limit = engine::Limit::kRule;  // says nothing where nothing objected
  std::string budget = {};                     // empty: not a budget's limit
  std::string rule = {};                       // empty: not a rule
  std::string signal = {};  // instance, such as "replication_lag_seconds on standby-2"; empty: none

  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the comparison's 0 for a pointer.
  friend auto operator<=>(const Cause&, const Cause&) = default;
};

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

struct Counts {
  int64_t checks = 0;
  double cost = 0;  // predicted, cost units
  // The highest observed, in the signal's unit where there is a signal, else in the limit's.
  double peak = 0;
  // What the peak was compared with: the signal's hard threshold, or the limit. 0, as the peak:
  // nothing can be told, for want of a sample or of thresholds.
  double limit = 0;

  void Add(const Counts& other) {
    checks += other.checks;
    cost += other.cost;
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
