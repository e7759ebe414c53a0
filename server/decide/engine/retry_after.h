// When a refused Check is told to ask again: retry_after, and what Explain says of a bucket's room.
//
// A debt that drains at a known speed gives the exact time at which the same cost fits. Where a
// limit waits for a sample, a controller or somebody's Report, nobody can know: then it is when
// asking again is worth while. Never is said only where waiting cannot help.
//
// Pure functions; thread-safe.
//
//   violation.retry_after = RoomAt(candidate, now).in;

#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/resolve.h"
#include "server/decide/engine/rule_set.h"

namespace headgate::engine {

// When to ask again where no limit says: a gate whose next sample is not announced, a lost roll of
// the dice, a permit that somebody will report sometime.
inline constexpr absl::Duration kAskAgain = absl::Seconds(1);
inline constexpr absl::Duration kAskAgainForPermit = absl::Milliseconds(100);
// A pause lasts minutes to days, and whatever it holds back asks this often.
inline constexpr absl::Duration kAskAgainWhilePaused = absl::Seconds(5);

struct Room {
  absl::Duration in = absl::ZeroDuration();  // infinite: never
  bool known = true;                         // false: `in` is when to ask again
};
// When the candidate's bucket, whose debt has been read, has room for its cost.
Room RoomAt(const Candidate& candidate, const Now& now);

// When to ask again where health, or a controller, has to say something else first.
absl::Duration UntilNextSample(const Health& health, const Now& now);

// Infinite: the rule is a part of the policy for good. One that somebody may end any time is asked
// about again.
absl::Duration UntilRuleEnds(const RuleSet& rules, uint32_t rule, const Now& now);

// Whether nobody can know when the rule ends: somebody has to end it.
bool LastsUntilEnded(const RuleSet& rules, uint32_t rule);

// When all of the answer's violations that deny have room.
absl::Duration LongestRetryAfter(const CheckAnswer& answer);

}  // namespace headgate::engine
