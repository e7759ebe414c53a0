// SubjectState: what decides about a subject's work besides the room in its buckets, as one number.
//
// A lease is decided by its holder for as long as it lasts. What an operator orders meanwhile, and
// what is found out about the database, has to reach the holder before. So a lease says in which
// state it was granted, and whoever waits for another state (LeaseTerms::watched) gives back what
// was granted in any other.
//
// It differs where the rules that match differ, or what they do; where the budgets differ that they
// charge, or a limit of these; where a gate that would refuse has shut or opened; and where the
// controller of an auto budget paused it, or will, before the time that it had announced. It does
// not differ by what is about others: another identity's override, a budget that is not charged, a
// bucket that has filled up, a health that only makes buckets drain at another speed. It is made of
// names and numbers of the configuration alone, so that servers of one configuration agree on it,
// before and after a restart. That two states are one by chance is as likely as for 64 random bits.
//
// A pure function of what it is given. It is read before the limits are examined, so that what
// changes in between makes the state of a lease too old and never too new.
//
//   const uint64_t state = SubjectStateOf(policy, resolved, request, now);

#pragma once

#include <cstdint>

#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/policy.h"
#include "server/decide/engine/resolve.h"

namespace headgate::engine {

// Never 0. `resolved` is the request's under this policy.
uint64_t SubjectStateOf(const Policy& policy, const Resolved& resolved, const CheckRequest& request,
                        const Now& now);

}  // namespace headgate::engine
