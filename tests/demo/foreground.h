// The foreground: pgbench at a pace of its own, which leaves the machine some room, as those do
// that people have to wait for.
//
// Where clients come as fast as they can, they take all of the processor for themselves, and
// nothing is left that other work could have without taking it from them.
//
//   absl::StatusOr<std::unique_ptr<load::Pgbench>> foreground =
//       StartForeground(stage, interrupt, absl::Seconds(4));
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/demo/interrupt.h"
#include "tests/demo/stage.h"
#include "tests/load/pgbench.h"

namespace headgate::demo {

// Of what it can do.
inline constexpr double kForegroundShare = 0.35;

// Lets it go as fast as it can for so long, and then starts it at kForegroundShare of that.
absl::StatusOr<std::unique_ptr<load::Pgbench>> StartForeground(Stage& stage,
                                                               const Interrupt& interrupt,
                                                               absl::Duration warm_up);

}  // namespace headgate::demo
