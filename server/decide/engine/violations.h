// What an answer says about the limits that refuse: one violation for each, and the reason that
// follows from all of them.
//
// Each function here adds its violation and notes whether it denies; a budget that only warns does
// not. DenyByViolations comes once, when all limits have been looked at.
//
// Thread-safe; a Decision belongs to one thread.
//
//   ViolateBurst(decision, candidate);
//   if (decision.denied) DenyByViolations(decision);

#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "server/decide/engine/decision.h"

namespace headgate::engine {

// A health gate of a Check, and whose it is: a rule's, a budget's, or, with neither, the target's.
struct Gate {
  uint32_t profile = kNoRule;  // place in the policy's profiles; kNoRule: always open
  uint32_t rule = kNoRule;
  uint32_t budget = Violation::kNoBudget;
  bool warn = false;
};

void ViolateGate(Decision& decision, const Health& health, const Gate& gate);
void ViolateLimit(Decision& decision, Candidate& candidate, Limit limit, const Measured& measured,
                  absl::Duration retry_after);
void ViolateBurst(Decision& decision, Candidate& candidate);
// The Report to which the debt of a bucket is due, where it is above its burst and that is known.
std::optional<ReportedDebt> ReportedDebtOf(const Decision& decision, const Candidate& candidate);
// `count` permits are outstanding.
void ViolateConcurrency(Decision& decision, Candidate& candidate, int64_t count);

// The holder may have no more permits, and the Check cannot do without one.
void ViolatePermits(Decision& decision, const PermitHolders::Standing& standing);

// The answer is a denial by the deny rule that matches, or else by the reject rule and these dice.
void DenyByRule(Decision& decision, double dice);
// The answer is a denial by the first stage that has a violation.
void DenyByViolations(Decision& decision);

}  // namespace headgate::engine
