// The priority of the job's own process beside the database.
//
// Sessions of batch work can be made to yield (docs/agent.md). What the job itself calculates on
// the database's machine, between one statement and the next, is its own process's, and takes its
// full turn unless the process is lowered.
//
// Thread-safe.
//
//   if (absl::StatusOr<std::string> how = LowerPriority(); !how.ok()) LOG(WARNING) << how.status();

#ifndef HEADGATE_PRIORITY_H_
#define HEADGATE_PRIORITY_H_

#include <string>

#include "absl/status/statusor.h"

namespace headgate::client {

// From here on this process runs when nobody else wants the processor: all of its threads get
// SCHED_IDLE, or nice 19 where that is refused, and idle I/O. Threads and processes that it starts
// inherit it. It takes no privilege; taking it back takes CAP_SYS_NICE, or a limit of nice
// (RLIMIT_NICE) that allows it. Calling it again does no harm. Where others do the same at the same
// time it may take two seconds.
//
// Where autogroups decide (docs/agent.md, "Scheduling groups"), the session's gets nice 19 too, if
// this process began the session. Returns what was done, for a log.
//
// FailedPrecondition: it has a real-time policy, and was left as it is; or what was done counts
// within its session alone, which it shares with others, or within which it may not be lowered.
// PermissionDenied: nothing was done. Unimplemented: this is not Linux. The message has it in a
// sentence. No error is a reason not to work.
//
// A process that waits for the processor hears an answer late: on a machine that is never idle
// give ClientOptions::check_deadline a second or more.
absl::StatusOr<std::string> LowerPriority();

}  // namespace headgate::client

#endif  // HEADGATE_PRIORITY_H_
