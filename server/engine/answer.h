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
#include "server/engine/ip_prefix.h"
#include "server/engine/permit_table.h"
#include "server/engine/rule_set.h"
#include "server/engine/virtual_clock.h"

namespace headgate::engine {

struct Policy;

struct CheckRequest {
  std::string_view identity = {};
  std::string_view target = {};  // may be empty where one target is configured
  std::optional<double> estimated_cost = {};
  std::string_view pattern = {};  // of the work, such as a query's fingerprint; may be empty
  absl::Span<const Tag> tags = {};
  const IpAddress* remote_address = nullptr;  // as the server sees it; null: unknown
  std::string_view request_id = {};  // makes a retry safe; empty: every call is a Check of its own
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
};

enum class Limit : uint8_t {
  kRule,
  kHealth,
  kRate,
  kBurst,
  kMaxCost,
  kMaxConcurrency,
  kProbe,  // an auto budget whose controller measures the foreground without batch work
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
  double observed = 0;         // cost units, permits, pressure or the ratio, as the limit has it
  double limit_value = 0;
  // For kHealth: what was known then. The age is infinite where there was no sample.
  HealthStatus health_status = HealthStatus::kUnmonitored;
  absl::Duration sample_age = absl::InfiniteDuration();
  bool unread = false;  // for kHealth: see Health
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

// What Check says; `policy` is set whenever its status is ok.
struct CheckAnswer {
  Verdict verdict = Verdict::kDenied;
  Reason reason = Reason::kNone;
  int priority = 0;
  PermitId permit = 0;        // 0 on a denial, and where an exempt Check found no room for one
  double predicted_cost = 0;  // cost units; the largest, where budgets' defaults differ
  // Advice where an auto budget was charged: the factor by which the next chunk should be larger to
  // take 20 ms. 0: not known, or within 5 to 50 ms.
  double chunk_scale = 0;
  // Above zero on a denial. Infinite where waiting cannot help.
  absl::Duration retry_after;
  absl::InlinedVector<Violation, 4> violations;
  HealthView health;
  std::shared_ptr<const Policy> policy;  // that it was decided under; null only after an error
  uint64_t subject_key = 0;              // keyed hash of target and whole identity; odd, or none
  bool repeated = false;  // repeats the answer to the same request_id: nothing was charged anew

  // Denied, for no reason: what stands here after an error.
  void Clear() {
    verdict = Verdict::kDenied;
    reason = Reason::kNone;
    priority = 0;
    permit = 0;
    predicted_cost = 0;
    chunk_scale = 0;
    retry_after = absl::ZeroDuration();
    violations.clear();
    policy = nullptr;
    subject_key = 0;
    repeated = false;
    health.profile = kNoRule;
  }

  // Makes this the answer that another Check of the same subject and cost got, which was allowed
  // with no violation. The permit is still the caller's to set.
  void CopyAllowed(const CheckAnswer& other) {
    verdict = Verdict::kAllowed;
    reason = other.reason;
    priority = other.priority;
    predicted_cost = other.predicted_cost;
    chunk_scale = other.chunk_scale;
    retry_after = absl::ZeroDuration();
    violations.clear();
    if (policy != other.policy) policy = other.policy;
    health = other.health;
    subject_key = other.subject_key;
    repeated = false;
  }

  // One sentence for a person.
  std::string Sentence() const;
};

enum class ReportOutcome : uint8_t {
  kSettled,
  kAlreadySettled,  // harmless, nothing changed
  kForgotten,       // ended so long ago that the permit's place was needed: nothing changed
};

// One bucket that a Check would be charged to, as Explain sees it.
struct BucketView {
  uint32_t budget = 0;
  uint32_t rule = 0;
  int level = 0;       // see Violation
  std::string bucket;  // "" for the whole budget, else the level's or the tag's text
  double cost = 0;     // cost units, as are debt and burst
  double debt = 0;
  std::optional<double> burst;
  std::optional<double> rate;  // cost units a second at speed 1
  int64_t outstanding = 0;     // permits
  std::optional<int64_t> max_concurrency;
  std::optional<double> max_cost;
  double speed = 1;
  absl::Duration room_in;  // zero: admitted now; infinite: never at this cost
  bool ask_again = false;  // nobody can know when there is room: room_in is when to ask again
};

struct Explanation {
  CheckAnswer answer;           // what Check would say, but for the dice
  double reject_ratio = 0;      // probability with which a rule would deny it, if none does anyway
  std::vector<uint32_t> rules;  // all that match, by their place
  // The rule that let it through what others of `rules` refuse; none where one exempts it.
  uint32_t resumed_by = kNoRule;
  std::vector<uint32_t> lifted;  // those others
  std::vector<BucketView> buckets;
  std::shared_ptr<const Policy> policy;
};

}  // namespace headgate::engine
