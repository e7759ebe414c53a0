// What becomes of a Check that waits and was examined again.
//
// Admitted, or refused by what time does not cure, it leaves, and so it does when its time is up.
// Refused again by its own limit it stays, and the line is due at the instant that the engine
// tells. Refused by another one it moves to the line there, with its arrival for its order; where
// it had its turn, room is held for it, so that nobody takes from it what it had come by.
//
// Guarded by the owner of what it is given.
//
//   Departure departure = Conclude(state, waiting, {status, answer, now});
//   if (departure.waiting != nullptr) ... answer it ...

#pragma once

#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/line/line_state.h"

namespace headgate::line {

// What the engine said of it.
struct Examined {
  const absl::Status& status;
  const engine::CheckAnswer& answer;
  const Now& now;
};

Departure Conclude(LineState& state, WaitingCheck& waiting, const Examined& examined);
// The same for one whose waiter was asked whether it may still wait; the status says so.
Departure ConcludeAsked(LineState& state, WaitingCheck& waiting, absl::Status status,
                        const Now& now);

}  // namespace headgate::line
