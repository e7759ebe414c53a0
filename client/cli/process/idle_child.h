// Starts a program that runs when nobody else wants the processor.
//
// A thread that lowers itself starts it, so that the program and whatever it starts have the rank
// from their first instruction on, and this program keeps its own.
//
// Where autogroups decide, the program's session has to yield as a whole. It is this one's, if this
// program began it. Where it did not, the program begins one of its own, unless there is a terminal
// that it would lose: then the session is left as it is, and what was done counts within it alone.
//
// Thread-safe.
//
//   absl::StatusOr<IdleChild> child = StartIdle([&](Session session) { return Spawn(...); });

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace headgate::cli {

enum class Session : uint8_t { kInherited, kOwn };

struct IdleChild {
  pid_t pid = 0;
  std::string said;  // what was done, or could not be done and why, in one sentence
};

// Errors are those of `spawn`: what can't be lowered runs all the same.
absl::StatusOr<IdleChild> StartIdle(absl::FunctionRef<absl::StatusOr<pid_t>(Session)> spawn);

}  // namespace headgate::cli
