// What an answer is counted under: its outcome, and the limit that did it, with that limit's names.
//
// A Cause has names, not places: it outlives the policy that it was decided under. A CauseView is
// views into the answer's policy, and lives as long as the answer. Plain data and pure functions.
//
//   const CauseView cause = CauseOf(answer);
//   const uint64_t key = CombineHash(answer.subject_key, cause.Hash(seed));

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/decide/engine/answer.h"

namespace headgate::engine {

// Every Check is counted under exactly one of the first three.
enum class CheckOutcome : uint8_t {
  kAllowed,
  kWouldBeDenied,  // allowed, but a WARN budget would have denied it
  kDenied,
  kWaited,  // time that Checks waited in line, whatever became of them: counted besides
};

// What denied a Check, or would have, or what it waits for. Of several limits the one that asks for
// the longest wait counts, of equals the first. An allowed Check has only a reason.
struct Cause {
  Reason reason = Reason::kNone;
  Limit limit = Limit::kRule;  // says nothing where nothing objected
  std::string budget = {};     // empty: not a budget's limit
  std::string rule = {};       // empty: not a rule
  std::string signal = {};  // instance, such as "replication_lag_seconds on standby-2"; empty: none

  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the comparison's 0 for a pointer.
  friend auto operator<=>(const Cause&, const Cause&) = default;
};

struct CauseView {
  CheckOutcome outcome = CheckOutcome::kAllowed;
  Reason reason = Reason::kNone;
  Limit limit = Limit::kRule;
  std::string_view budget;
  std::string_view rule;
  std::string_view signal;
  // What was compared: in the signal's unit where there is one. A limit of 0: nothing can be told,
  // for want of a sample, or of a threshold.
  double observed = 0;
  double limit_value = 0;

  uint64_t Hash(uint64_t seed) const;  // of all but the numbers
  Cause ToCause() const;
};

// The stage that refuses by such a limit.
Reason StageOf(Limit limit);

// What an answer to a Check is counted under, as the engine gave it.
CauseView CauseOf(const CheckAnswer& answer);

// What a Check waits for that was refused so: the violation is the answer's. Where others are
// before it, that is what they wait for: the budget's room.
CauseView WaitCauseOf(const CheckAnswer& answer, const Violation& violation);

}  // namespace headgate::engine
