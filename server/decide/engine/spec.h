// What an operator writes, as plain data: targets, budgets and rules before they are compiled.
//
// These structs carry no behaviour and are validated as a whole by `CompilePolicy` (policy.h). The
// configuration room fills them from YAML, the override service from RPCs, tests by hand.
//
// An unset `std::optional` limit means unlimited; an explicit 0 blocks every Check, a free one
// included. Amounts are in the budget's unit: the jobs' own, such as rows, or busy seconds.
//
// Thread-compatible, like any struct.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/schedule.h"

namespace headgate::engine {

// Largest cost of one Check or Report, largest rate and largest burst, in cost units (or cost units
// a second). Beyond it a number is a mistake, and is refused rather than rounded.
inline constexpr double kMaxAmount = 1e15;
// Smallest non-zero rate, cost units a second: one unit in about 32 years.
inline constexpr double kMinRate = 1e-9;
// Of BudgetSpec::max_overrun.
inline constexpr double kDefaultMaxOverrun = 10, kMaxMaxOverrun = 1e6;
// Of BudgetSpec::max_debt.
inline constexpr absl::Duration kDefaultMaxDebt = absl::Seconds(60);
inline constexpr absl::Duration kMinMaxDebt = absl::Seconds(1), kMaxMaxDebt = absl::Hours(24);
// Of WeightAction::weight.
inline constexpr double kMinWeight = 0.001, kMaxWeight = 1000;
// Budgets that one Check may be charged to.
inline constexpr int kMaxBudgetsPerCheck = 16;
// Tags of one Check, and bytes of a tag's key and value together.
inline constexpr int kMaxTags = 32;
inline constexpr size_t kMaxTagBytes = 256;

// One PostgreSQL cluster.
struct TargetSpec {
  std::string name;
  // What `ServerShare` is a percentage of, cost units a second.
  std::optional<double> capacity;
  // The profile of Checks and budgets that name none. Empty: real time, no health gate.
  std::string default_health;
};

// In the signal's own unit: pressure is 0 at `soft` and 1 at `hard`.
struct SignalThresholds {
  double soft = 0;
  double hard = 1;
};

// A health profile: the engine needs its name and the names of its signals, to which it refers by
// their index here. Whoever measures compares with the thresholds; here they are for telling
// people what was measured.
struct HealthProfileSpec {
  std::string name;
  std::vector<std::string> signals;
  std::vector<SignalThresholds> thresholds = {};  // one for each signal, or none at all
};

// What a budget is measured in; the two are never mixed.
enum class BudgetUnit : uint8_t {
  kCost,      // the unit of the jobs' own estimates: rows, bytes, the planner's cost units
  kBusyTime,  // seconds for which work keeps the database busy
};

enum class Mode : uint8_t {
  kEnforce,
  kWarn,      // never denies; answers what it would have done
  kDisabled,  // neither matches nor records
};

struct UnitsPerSecond {
  double value = 0;
};
// Percentage of the target's capacity.
struct ServerShare {
  double percent = 0;
};
// Found by a controller, which sets the speed of the budget's own clock (Engine::SetAutoRate). The
// unit is busy seconds of work. What one Check is charged is capped at the burst, so that a bad
// guess cannot keep work out for ever: the Report charges the rest.
struct AutoRate {};
using RateSpec = std::variant<UnitsPerSecond, ServerShare, AutoRate>;

// The most debt a bucket may hold: cost units, or how long it takes to drain at the budget's rate.
using BurstSpec = std::variant<double, absl::Duration>;

struct SplitNone {};
// One bucket for each identity at this depth: 1 is the root. A shallower identity uses its leaf.
struct SplitByDepth {
  int depth = 1;
};
// One bucket for each value of this tag; Checks without the tag share one.
struct SplitByTag {
  std::string key;
};
using SplitSpec = std::variant<SplitNone, SplitByDepth, SplitByTag>;

struct BudgetSpec {
  std::string name;
  std::optional<RateSpec> rate;  // rate and burst are given together or not at all
  std::optional<BurstSpec> burst;
  std::optional<double> max_cost;          // cost units, of one Check
  std::optional<int64_t> max_concurrency;  // permits outstanding in one bucket
  Mode mode = Mode::kEnforce;
  SplitSpec split = SplitNone{};
  std::string health;  // profile whose clock the buckets live on; empty: the target's default
  // Unset: busy time where a controller finds the rate, else cost.
  std::optional<BudgetUnit> unit = {};
  // Charged where nothing else predicts it, in the budget's unit.
  double default_cost = 1;
  // The most that one Report may charge, as a multiple of what its permit was charged, or of busy
  // time also of the time since then (overrun.h); a burst's worth may be charged in any case.
  double max_overrun = kDefaultMaxOverrun;
  // How long a bucket may take to drain what Reports have lifted above its burst, at the full rate;
  // of an auto budget, at one busy second a second. What is beyond is forgiven.
  absl::Duration max_debt = kDefaultMaxDebt;
  // Buckets of a split budget; rounded up to a power of two. 24 bytes each.
  size_t max_buckets = size_t{1} << 16;
};

struct MatchSpec {
  std::string identity;  // selector: this level and everything below it
  std::string segment;   // any identity that has this segment
  std::vector<std::pair<std::string, std::string>> tags;  // all of them must hold
  std::string remote_address;                             // CIDR; longest prefix wins
  std::string target;
  std::optional<ScheduleSpec> schedule;
};

struct ChargeAction {
  std::vector<std::string> budgets;
};
struct ExemptAction {};
// Which resume rules lift a rule that refuses.
enum class LiftedBy : uint8_t {
  kAnyResume,
  kLaterResume,  // of an emergency stop: only those after it in PolicySpec::rules
};
struct DenyAction {
  LiftedBy lifted_by = LiftedBy::kAnyResume;
};
// Lets through what deny and reject rules refuse. Budgets and health still count.
struct ResumeAction {};
// Denies this share of Checks, 0..1.
struct RejectAction {
  double ratio = 0;
  LiftedBy lifted_by = LiftedBy::kAnyResume;
};
// Gates matching Checks by this profile instead of the ones of their budgets. Buckets stay on their
// budget's clock: a bucket that others share cannot drain at two speeds.
struct HealthAction {
  std::string profile;
};
// For the answer and the log; of several, the deepest selector's counts. In a line the higher goes
// first. Beyond that it decides nothing: less important work yields first by a stricter health
// profile.
struct PriorityAction {
  int priority = 0;
};
// In a line, how many times the share of a sibling without a weight the level has at which the
// rule's selector ends; without a selector it is the root. Of several at one level those with a
// selector count, and of them the highest.
struct WeightAction {
  double weight = 1;
};
using ActionSpec = std::variant<ChargeAction, ExemptAction, DenyAction, RejectAction, ResumeAction,
                                HealthAction, PriorityAction, WeightAction>;

struct RuleSpec {
  std::string name;  // unique; named in answers
  MatchSpec match;
  ActionSpec action;
  absl::Time expires_at = absl::InfiniteFuture();
  // Somebody made it while the server runs, and may end it any time: whoever it denies waits.
  bool ends_by_hand = false;
};

struct PolicySpec {
  std::vector<TargetSpec> targets;  // empty: one nameless target
  std::vector<HealthProfileSpec> profiles;
  std::vector<BudgetSpec> budgets;
  std::vector<RuleSpec> rules;
  // Whether callers that work under one root identity share what is learnt of costs.
  bool share_patterns = false;
};

}  // namespace headgate::engine
