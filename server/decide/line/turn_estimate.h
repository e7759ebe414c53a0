// When somebody's turn is expected, as far as that can be known.
//
// At a bucket it follows from what is owed, held and before it in the queue, and from the speed at
// which the bucket drains. About permits nobody knows more than how often one is admitted.
//
// Pure functions.
//
//   const int64_t at_ns = ExpectedTurnAt(line, {.id = ticket, .cost_ns = cost, .now_ns = now_ns});

#pragma once

#include <cstdint>

#include "server/decide/line/line.h"

namespace headgate::line {

// Where nobody knows when a turn comes, it is asked about again after so long.
inline constexpr int64_t kAskAgainNs = 1'000'000'000;
// No turn of a permit is expected later than that.
inline constexpr int64_t kLongestTurnNs = 60 * kAskAgainNs;

struct TurnQuery {
  uint64_t id = 0;  // in the queue; 0: it is not in it
  double cost_ns = 0;
  int64_t now_ns = 0;
};

// When its turn is expected, if all come back who are before it; kNever: nobody knows.
int64_t TurnAt(const Line& line, const TurnQuery& query);
// Likewise of somebody who waits, if none of those does who may keep it waiting.
int64_t ExpectedTurnAt(const Line& line, const TurnQuery& query);

}  // namespace headgate::line
