// The order of those who wait, as a decision respects it: it asks the line (line_interface.h)
// before it looks for room in a bucket, and tells it what was charged.
//
// A budget that only warns has no line, because nobody waits for it. Nor has one that could never
// admit the Check, or a Check that something refuses for good.
//
// Thread-safe; a Decision belongs to one thread.
//
//   if (decision.line != nullptr && IsBehindOthers(decision, candidate)) ... it is refused ...

#pragma once

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "server/decide/engine/concurrency_table.h"
#include "server/decide/engine/decision.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/resolve.h"

namespace headgate::engine {

// The key of the line at a bucket, for its debt and its permits. Only the bits that
// ConcurrencyTable keeps, so that whoever gives a permit back knows it too.
inline uint64_t LineKeyOf(const Budget& budget, uint64_t tag) {
  return ConcurrencyTable::Kept(ConcurrencyKeyOf(budget, tag));
}
// The keys of the line at a profile's gate on a target, and of that until a rule ends.
uint64_t LineKeyOfGate(const Target& target, std::string_view profile);
uint64_t LineKeyOfRule(const Target& target, std::string_view rule);
// The key of the line of those who wait for one of their holder's permits.
uint64_t LineKeyOfHolder(const PermitHolder& holder);

// Who asks, as lines see it: with the priority that rules gave it, and the weights. `request` is
// the one that was resolved.
LineFlow LineFlowOf(const Policy& policy, const Resolved& resolved, const CheckRequest& request,
                    const Now& now);

// Whether others are before the Check at the candidate's bucket, which the answer then says. If
// not, the candidate knows what is held for others. The decision has a line; debt and cost have
// been read, where the budget has any.
bool IsBehindOthers(Decision& decision, Candidate& candidate);
// Tells the line what an admitted Check was charged. The decision has one.
void TellAdmitted(Decision& decision);
// What it was charged has been taken back, because another bucket refuses: meanwhile others may
// have found no room. The decision has a line.
void TellUndone(Decision& decision);

}  // namespace headgate::engine
