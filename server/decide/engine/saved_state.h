// What an Engine knows, as plain data: what has to survive a restart, and nothing else.
//
// Engine::Save fills it, Engine::Restore takes it; whoever calls them keeps it, in a file or where
// they like. It holds no pointer and no index into anything but itself. Keys and tags in it are
// hashes under `seed`: an engine has to be made with that seed before it can be restored.
//
// Times are those of the engine that saved. Restore moves monotonic ones to the new process's
// clock; virtual ones stay, since clocks go on where they stood.
//
// What comes from outside is never believed: Validate says what is wrong with it. Limits of
// memory are the caller's: a vector here is as long as what it was read from.
//
// Thread-compatible, like any struct.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/cost_model.h"
#include "server/decide/engine/permit.h"
#include "server/decide/engine/safe_reservation.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::engine {

struct SavedClock {
  std::string name;  // the book's; empty: one that only a ledger knows, such as an auto budget's
  int64_t real_base_ns = 0;
  int64_t virtual_base_ns = 0;
  uint64_t speed_fixed = 0;  // 32.32; health.speed is derived from it
  Health health;
};

struct SavedBucket {
  uint64_t tag = 0;
  int64_t empties_at_ns = 0;
};

// A split budget's buckets that owe. Each stays in its line: who is evicted later depends on it.
struct SavedTable {
  int64_t filled_until_ns = 0;
  uint64_t live_evictions = 0;
  std::vector<uint8_t> lines;  // for each line, a bit for each of its cells that owes
  std::vector<SavedBucket> buckets;
};

// How times on the axis of a ledger's predecessor read after the move to its successor.
struct SavedOrigin {
  uint64_t version = 0;  // of the predecessor
  int64_t then_ns = 0, now_ns = 0;
  double scale = 0;
  int64_t drained_at_ns = 0;  // when all that was owed then will have drained, at the latest
};

struct SavedLedger {
  static constexpr uint32_t kFrozenClock = 0xffffffff;  // rate 0: its clock stands still

  std::string name;    // of target and budget, as the book joins them
  uint32_t slot = 0;   // place in the policy's list, which permits name
  bool idle = false;   // no budget of the policy has it
  uint32_t clock = 0;  // place in SavedState::clocks
  double ns_per_unit = 0;
  bool is_auto = false;
  BudgetUnit unit = BudgetUnit::kCost;
  uint64_t overruns = 0;
  double overrun_sum = 0;
  std::string split;
  uint64_t version = 0, lineage = 0;
  int64_t opened_at_ns = 0;
  std::vector<SavedOrigin> origins;  // the oldest first
  uint64_t unknown_before = 0;       // version: moves of charges from before it were forgotten

  int64_t empties_at_ns = 0;  // of the one bucket of a budget that is not split
  SavedTable table;           // without lines: it is not split
};

struct SavedCharge {
  uint64_t tag = 0;
  int64_t ended_at_ns = 0;
  int64_t refunded_since_ns = 0;  // in front of it, since it was charged
  double cost = 0;                // in the unit of its budget
  uint32_t ledger = 0;            // slot
  uint64_t concurrency_key = 0;   // 0: it holds none
};

struct SavedPermit {
  uint32_t slot = 0;
  uint32_t charges = 0;  // how many of SavedState::charges, which are in the permits' order
  bool expired = false;
  int64_t expires_at_ns = 0;  // monotonic
  CostSubject subject;
  uint64_t policy_version = 0;
  double estimate = 0;
  int64_t issued_at_ns = 0;  // monotonic
  uint8_t teaches = 0;
  uint16_t busy_charges = 0;
  uint64_t holder = 0;  // see PermitHolders; 0: not known, or expired
};

// One who holds permits.
struct SavedHolder {
  uint64_t key = 0;
  std::string name;
};

struct SavedRequest {
  uint64_t key = 0;
  PermitId permit = 0;
  double predicted_cost = 0, chunk_scale = 0;
  absl::Duration predicted_busy_time;  // below 0: none
  Probe probe;
  Reason reason = Reason::kNone;
  int priority = 0;
  HealthView health;
  std::vector<Violation> warnings;
};

struct SavedAverage {
  float value = 0;
  uint32_t count = 0;
};

// See LearntMeasure::Surge.
struct SavedSurge {
  float before = 0;
  uint8_t run = 0, taught = 0, spread = 0;
};

struct SavedMeasure {
  SavedAverage estimate, actual, mean;
  SavedSurge ratio_surge, mean_surge;
};

struct SavedPattern {
  CostSubject subject;
  uint64_t learnt_at = 0;  // a count: what was learnt later has more
  int64_t reported_at_ns = 0;
  uint64_t reports = 0;
  SavedMeasure cost, busy;
  bool named = false;
  CostNames::Text names;
};

struct SavedReportedDebt {
  uint64_t key = 0;
  int64_t reported_at_ns = 0;  // wall
  double reported = 0;
};

// What the controller of a target's auto budgets learnt: see LearntControls.
struct SavedControl {
  std::string target;
  std::string bytes;  // at most kMaxControlBytes, which the engine does not read
};
inline constexpr size_t kMaxControlBytes = 8192;

struct SavedState {
  uint64_t seed = 0;
  Now saved_at;
  uint64_t policy_version = 0;
  uint64_t shape = 0;  // of the policy: what the places in `requests` refer to
  uint64_t dice = 0;

  std::vector<SavedClock> clocks;
  std::vector<SavedLedger> ledgers;

  uint64_t first_generation = 0;
  uint64_t generation_floor = 0;
  std::vector<uint64_t> hands;        // where slots are looked for next
  std::vector<uint64_t> generations;  // of each slot, whether its permit is out or not
  std::vector<SavedPermit> permits;   // in the order of their slots
  std::vector<SavedCharge> charges;
  std::vector<SavedHolder> holders;
  std::vector<SavedRequest> requests;
  std::vector<SavedPattern> patterns;
  std::vector<SavedReportedDebt> reported_debts;
  std::vector<SavedControl> controls;  // in the order of their targets, each once
  std::vector<SavedSafeRate> safe_rates;
};

// Health as it can be saved: whoever sets it may say anything of its times.
Health Storable(Health health);

// Whether a controller could have learnt this.
bool IsControl(std::string_view bytes);

// Whether what is reserved could have been; `ledgers`: how many there are.
bool IsSound(const SavedSafeRate& saved, size_t ledgers);

// Whether a table could have saved this.
bool IsSound(const SavedTable& table);

// Ok, or InvalidArgument with the first thing that no Engine would have saved.
absl::Status Validate(const SavedState& state);

// Moves monotonic times of the engine that saved to those of the one that restores. 0 is no time.
class TimeShift {
 public:
  // `elapsed_ns` have passed since; a bound from below where that is not known.
  TimeShift(Now saved_at, Now now, int64_t elapsed_ns)
      : now_ns_(now.monotonic_ns), by_ns_(now_ns_ - elapsed_ns - saved_at.monotonic_ns) {}

  int64_t operator()(int64_t at_ns) const {
    if (at_ns == 0) return 0;
    return std::clamp<int64_t>(at_ns + by_ns_, 1, VirtualClock::kHorizonNs * 2);
  }
  int64_t now_ns() const { return now_ns_; }

 private:
  int64_t now_ns_;
  int64_t by_ns_;
};

}  // namespace headgate::engine
