// What a Report says, and what came of it.
//
// Work has two measures, which are never mixed: its cost, in the unit of the job's own estimate,
// and its busy time, the seconds for which it kept the database busy. A Report may leave out
// either: the predicted cost then stands, and the busy time is what has passed since the permit was
// issued.
//
// Plain data, thread-compatible.
//
//   absl::StatusOr<Settlement> settled = engine.Report(permit, {.cost = 310}, clock.Read());
//   for (const Overrun& overrun : settled->overruns) ...

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

struct Policy;

// The longest busy time that a Report may have, as a multiple of a permit's life.
inline constexpr int kMaxBusyLives = 64;

// The most pieces of one lease: one in each nanosecond of the longest (kLongestLease).
inline constexpr int64_t kMostPieces = 10'000'000'000;

struct ActualCost {
  std::optional<double> cost = {};  // in the unit of the estimate; absent: the prediction stands
  // Absent: the time since the permit was issued; of a lease the prediction stands.
  std::optional<absl::Duration> busy_time = {};
  // Of a lease: what was spent of it, as its pieces were estimated, and how many they were. What is
  // predicted is predicted of these. Absent: it is no lease's, or all of it was spent.
  struct Spent {
    double estimate = 0;
    int64_t pieces = 0;
    double safe_estimate = 0;  // of pieces at its safe rate, which are in `pieces` as well
    uint64_t subject_key = 0;  // of whom they were, as in CheckAnswer; 0: of whose lease it is
  };
  std::optional<Spent> spent = {};
};

enum class ReportOutcome : uint8_t {
  kSettled,
  kAlreadySettled,  // harmless, nothing changed
  kForgotten,       // ended so long ago that the permit's place was needed: nothing changed
};

// What one budget was not charged of a Report, since it was too far above what was predicted.
struct Overrun {
  uint32_t budget = 0;  // place in PolicySpec::budgets
  BudgetUnit unit = BudgetUnit::kCost;
  double reported = 0;  // in that unit: cost, or seconds
  double charged = 0;   // of it, what was predicted included
};

struct Settlement {
  ReportOutcome outcome = ReportOutcome::kSettled;
  std::vector<Overrun> overruns;
  // Budgets that stay charged as they were, whatever the Report says: they are split or measured in
  // another way by now, or their rate was changed more often than is remembered. Places in
  // PolicySpec::budgets.
  std::vector<uint32_t> unsettled;
  // Which those name budgets of; null: there are none.
  std::shared_ptr<const Policy> policy;
};

// What an operator forgave: see Engine::ForgiveDebt.
struct ForgivenDebt {
  std::string bucket;  // an identity level or a tag's value; empty where the budget has one bucket
  double units = 0;    // what it owed
  BudgetUnit unit = BudgetUnit::kCost;
};

}  // namespace headgate::engine
