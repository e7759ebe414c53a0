// Where a Check stands that comes to a bucket in whose line others are: whether it may pass now,
// and if not, when its turn is expected.
//
// Whoever has had its turn here holds room: others see the burst without it, until its holder is
// admitted or goes away. One that waits, or will, is before others when it is the head of the queue
// or has had its turn; one that polls has its place (place_table.h).
//
// Guarded by the owner of what it is given.
//
//   const PlaceInLine standing = PlaceInLineOf(state, line, arrival);

#pragma once

#include "server/decide/engine/line_interface.h"
#include "server/decide/line/line_state.h"

namespace headgate::line {

// `line` is a bucket's, and its state is noted.
engine::PlaceInLine PlaceInLineOf(LineState& state, Line& line, const engine::LineArrival& arrival);

}  // namespace headgate::line
