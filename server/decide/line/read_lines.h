// What is shown of the lines: counts, who waits where, and where a newcomer would stand.
//
// Reads all lines and all tickets: for people and metrics, not for the path of a Check. Guarded by
// the owner of what it is given.
//
//   LinesView view = ReadLines(state, {.most_lines = 20, .most_waiting = 3}, now_ns);

#pragma once

#include <cstdint>

#include "server/decide/line/line_state.h"
#include "server/decide/line/line_view.h"

namespace headgate::line {

// The counts of `state.stats`, and what can be seen now; not what the options say.
LineStats ReadStats(const LineState& state, int64_t now_ns);
// Each with those who are next among its earliest arrivals.
LinesView ReadLines(const LineState& state, const LineQuery& query, int64_t now_ns);
// Where a Check would stand if it came now and waited; where its subject stands, if it polls and
// has a place. Nobody's is changed.
PlaceView ReadPlace(LineState& state, const Newcomer& newcomer, int64_t now_ns);

}  // namespace headgate::line
