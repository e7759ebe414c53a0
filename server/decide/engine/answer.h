// What goes into a Check and what comes out.
//
// Requests are views: the caller keeps what they point to alive for the call. Answers are meant to
// be reused from one Check to the next, so that the common path allocates nothing.
//
// An answer names rules, budgets and profiles by their places in the policy that it was decided
// under, and keeps that policy alive until the answer is reused, cleared or gone.
//
// Thread-compatible.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/decide/engine/ip_prefix.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/permit.h"
#include "server/decide/engine/rule_set.h"
#include "server/decide/engine/settlement.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::engine {

struct Policy;

// What makes a Check one for a lease: see lease_grant.h. The estimate is the most of it.
struct LeaseTerms {
  double least = 0;          // the smallest part of it that is of use: what one piece costs
  absl::Duration life = {};  // for which it is spent
  // What its holder would like to go on with where it can reach nobody any more, in the unit of the
  // estimate a second, and for how long after the lease's end: see SafeRates. 0: it would not.
  double safe_rate = 0;
  absl::Duration safe_life = absl::ZeroDuration();
  // Set: it is no Check, and charges nothing. Its caller holds leases, knows this state of what
  // decides about them (subject_state.h), and waits for another.
  std::optional<uint64_t> watched = {};
};
inline constexpr absl::Duration kShortestLease = absl::Milliseconds(100);
inline constexpr absl::Duration kLongestLease = absl::Seconds(10);

struct CheckRequest {
  std::string_view identity = {};
  std::string_view target = {};  // may be empty where one target is configured
  std::optional<double> estimated_cost = {};
  std::string_view pattern = {};  // of the work, such as a query's fingerprint; may be empty
  absl::Span<const Tag> tags = {};
  const IpAddress* remote_address = nullptr;  // as the server sees it; null: unknown
  std::string_view request_id = {};  // makes a retry safe; empty: every call is a Check of its own
  std::string_view caller = {};      // the name of an authenticated caller; empty: nobody is named
  bool waits = false;   // in line if it is refused by what time cures; else it is told its turn
  uint64_t ticket = 0;  // of one that waits and is examined again; 0: it is new
  const LeaseTerms* lease = nullptr;  // null: all of the estimate is admitted or nothing

  bool IsWatch() const { return lease != nullptr && lease->watched.has_value(); }
};

enum class Verdict : uint8_t { kAllowed, kDenied };

// Why: the first stage that denied, or what let the Check pass unexamined.
enum class Reason : uint8_t {
  kNone,
  kExempt,
  kDenyRule,
  kRejectRatio,
  kHealth,
  kMaxCost,
  kMaxConcurrency,
  kCapacity,  // debt would pass the burst
  kPermits,   // the holder has its share of the permits
  // No rule matches, so that nothing limits it. Of counts alone: an answer has `unmatched`.
  kUnmatched,
  kLine,      // others are before it
  kLineFull,  // too many wait already; the line's own answer, not the engine's
  // Nobody decides, and it was decided without the buckets (approximate_checks.h); of what is
  // allowed, too.
  kApproximate,
};

enum class Limit : uint8_t {
  kRule,
  kHealth,
  kRate,
  kBurst,
  kMaxCost,
  kMaxConcurrency,
  kProbe,  // an auto budget whose controller measures the foreground without batch work
  kPermits,
  kLine,
  kLineFull,
  kApproximate,
};

// A Report that left a bucket with more debt than its burst.
struct ReportedDebt {
  absl::Time reported_at;
  double reported = 0;      // in the budget's unit: cost, or seconds
  double owed = 0;          // by the bucket now, likewise
  absl::Duration owed_for;  // until what is above the burst has drained; infinite: never
};

// One limit that refused, or would have if its budget enforced. Places are the policy's.
struct Violation {
  static constexpr uint32_t kNoBudget = 0xffffffff;
  static constexpr int16_t kNoSignal = -1;

  uint32_t budget = kNoBudget;  // place in PolicySpec::budgets
  uint32_t rule = kNoRule;
  uint32_t profile = 0;  // for kHealth
  Limit limit = Limit::kRule;
  bool warn = false;           // did not deny
  int8_t level = 0;            // depth of the identity level whose bucket it is; 0: not by level
  int16_t signal = kNoSignal;  // place among the profile's signals
  BudgetUnit unit = BudgetUnit::kCost;  // of the budget
  // In the budget's unit, permits, pressure or the ratio, as the limit has it.
  double observed = 0;
  double limit_value = 0;
  // Where a prediction is above what the budget could ever admit: what is predicted, and from how
  // many Reports. 0 Reports: it is not, or nothing was learnt.
  double predicted = 0;
  int64_t learnt_from = 0;
  std::optional<ReportedDebt> reported_debt = {};  // to which the bucket's debt is due
  // For kHealth: what was known then. The age is infinite where there was no sample.
  HealthStatus health_status = HealthStatus::kUnmonitored;
  absl::Duration sample_age = absl::InfiniteDuration();
  bool unread = false;  // for kHealth: see Health
  // Of the line to wait in for this limit: a bucket's key, or one of the gate's or the rule's. 0:
  // none. Keyed, so it never leaves the process.
  uint64_t line_key = 0;
  int64_t cost_ns = 0;  // what the bucket would be charged, in virtual time; 0: it is no bucket's
  // Until this limit would admit the same cost, at the present speed; where nobody can know that,
  // until it is worth asking again. Infinite: never at this cost.
  absl::Duration retry_after;
};

// What a violation compares, as people are told it.
struct Measured {
  double observed = 0;
  double limit = 0;
};
// A health violation is told in its signal's own unit, with the hard threshold for the limit. By
// pressure, with 1 for the limit, where no threshold is known and where the gate is shut for want
// of a sample, so that there is nothing to tell. The violation is of this policy.
Measured MeasuredBy(const Policy& policy, const Violation& violation);
// Where a signal stands, and its hard threshold; none where no thresholds are known.
std::optional<Measured> SignalAt(const Policy& policy, uint32_t profile, int16_t signal,
                                 double pressure);
// The signal at its place in a profile, and the one behind a violation; empty: none.
const std::string& SignalOf(const Policy& policy, uint32_t profile, int16_t signal);
inline const std::string& SignalOf(const Policy& policy, const Violation& violation) {
  return SignalOf(policy, violation.profile, violation.signal);
}

// The health that this decision was made under: that of the slowest clock among its gates.
struct HealthView : VirtualClock::Reading {
  uint32_t profile = kNoRule;  // place in PolicySpec::profiles; kNoRule: no profile had a say
  int64_t now_ns = 0;          // monotonic, of the decision

  // Infinite: never sampled.
  absl::Duration SampleAge() const {
    if (health.sampled_at_ns == 0) return absl::InfiniteDuration();
    return absl::Nanoseconds(std::max<int64_t>(now_ns - health.sampled_at_ns, 0));
  }
};

// A Check whose prediction is above what a budget could ever admit, and which is let through
// nevertheless, so that it is measured.
struct Probe {
  uint32_t budget = Violation::kNoBudget;  // place in the policy; kNoBudget: it is no probe
  double predicted = 0;
  double most = 0;          // that the budget could ever admit, and at most charges
  int64_t learnt_from = 0;  // Reports

  explicit operator bool() const { return budget != Violation::kNoBudget; }
};

// What a lease is of.
struct Grant {
  double amount = 0;  // in the unit of the estimate; 0: it is none
  // The largest estimate of one piece; a larger one would be refused for good.
  double largest_piece = kMaxAmount;
  double reject_ratio = 0;     // of the pieces the holder denies so many, for a rule says so
  bool one_at_a_time = false;  // it holds one place of a budget with max_concurrency
  absl::Duration time;         // from when it was asked for; the permit ends with it
  double safe_rate = 0;        // what is reserved of LeaseTerms::safe_rate
  absl::Duration safe_time = absl::ZeroDuration();  // for which it is, after the end
  uint64_t state = 0;  // that it was decided in (subject_state.h); 0: not known
};

// What Check says; `policy` is set whenever its status is ok.
struct CheckAnswer {
  Verdict verdict = Verdict::kDenied;
  Reason reason = Reason::kNone;
  int priority = 0;
  // 0 on a denial, where no budget is charged, and where the holder has its share of the permits
  // and can do without another: what was charged is then settled.
  PermitId permit = 0;
  // In the unit of the estimate; the largest, where nothing is predicted and budgets' defaults
  // differ.
  double predicted_cost = 0;
  // Likewise, in busy time; absent: no budget of busy time is charged.
  std::optional<absl::Duration> predicted_busy_time;
  Probe probe;
  Grant grant;  // of a lease that is allowed; not reset where none was asked for
  // Advice where an auto budget was charged: the factor by which the next chunk should be larger to
  // take what a chunk should. 0: not known, or it is right.
  double chunk_scale = 0;
  // Above zero on a denial. Infinite where waiting cannot help.
  absl::Duration retry_after;
  absl::InlinedVector<Violation, 4> violations;
  HealthView health;
  std::shared_ptr<const Policy> policy;  // that it was decided under; null only after an error
  uint64_t subject_key = 0;              // keyed hash of target and whole identity; odd, or none
  bool repeated = false;   // repeats the answer to the same request_id: nothing was charged anew
  bool unmatched = false;  // no rule matches, not even one that only gives a label
  // Who asks, as the lines see it: set on a denial of a Check that waits, and only then.
  LineFlow flow;

  // Denied, for no reason: what stands here after an error.
  void Clear() {
    verdict = Verdict::kDenied;
    reason = Reason::kNone;
    priority = 0;
    permit = 0;
    predicted_cost = 0;
    predicted_busy_time.reset();
    probe.budget = Violation::kNoBudget;
    grant = Grant{};
    chunk_scale = 0;
    retry_after = absl::ZeroDuration();
    violations.clear();
    policy = nullptr;
    subject_key = 0;
    repeated = false;
    unmatched = false;
    health.profile = kNoRule;
  }

  // Makes this the answer that another Check of the same subject and cost got, which was allowed
  // with no violation. The permit is still the caller's to set.
  void CopyAllowed(const CheckAnswer& other) {
    verdict = Verdict::kAllowed;
    reason = other.reason;
    priority = other.priority;
    predicted_cost = other.predicted_cost;
    predicted_busy_time = other.predicted_busy_time;
    probe.budget = Violation::kNoBudget;
    chunk_scale = other.chunk_scale;
    retry_after = absl::ZeroDuration();
    violations.clear();
    if (policy != other.policy) policy = other.policy;
    health = other.health;
    subject_key = other.subject_key;
    repeated = false;
    unmatched = other.unmatched;
  }

  // One sentence for a person.
  std::string Sentence() const;
};

// One bucket that a Check would be charged to, as Explain sees it.
struct BucketView {
  uint32_t budget = 0;
  uint32_t rule = 0;
  int level = 0;       // see Violation
  std::string bucket;  // "" for the whole budget, else the level's or the tag's text
  BudgetUnit unit = BudgetUnit::kCost;
  double cost = 0;  // in that unit, as are debt and burst
  double debt = 0;
  std::optional<double> burst;
  std::optional<double> rate;  // cost units a second at speed 1
  int64_t outstanding = 0;     // permits
  std::optional<int64_t> max_concurrency;
  std::optional<double> max_cost;
  double speed = 1;
  absl::Duration room_in;  // zero: admitted now; infinite: never at this cost
  bool ask_again = false;  // nobody can know when there is room: room_in is when to ask again
  std::optional<ReportedDebt> reported_debt;  // to which the debt is due
  uint64_t line_key = 0;   // of those who wait for it; keyed, so it never leaves the process
  int64_t cost_ns = 0;     // what it would be charged, in virtual time; 0: it has no debt
  double ns_per_unit = 0;  // of virtual time; 0: it has no debt
};

// Its places are those of the answer's policy.
struct Explanation {
  CheckAnswer answer;           // what Check would say, but for the dice
  double reject_ratio = 0;      // probability with which a rule would deny it, if none does anyway
  std::vector<uint32_t> rules;  // all that match, by their place
  // The rule that let it through what others of `rules` refuse; none where one exempts it.
  uint32_t resumed_by = kNoRule;
  std::vector<uint32_t> lifted;  // those others; an emergency stop that is newer is not among them
  // Rules that would match, but for a longer prefix of another rule, which is `longest_prefix`.
  std::vector<uint32_t> shorter_prefix;
  uint32_t longest_prefix = kNoRule;
  std::vector<BucketView> buckets;
  LineFlow flow;  // of the one that asks
};

}  // namespace headgate::engine
