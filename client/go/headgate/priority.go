package headgate

// LowerPriority has this process run, from here on, when nobody else wants the processor: all of its
// threads get SCHED_IDLE, or nice 19 where that is refused, and idle I/O. Threads and processes that
// it starts inherit it. It takes no privilege, and cannot be taken back without one. Calling it again
// does no harm. It blocks for up to two seconds where others do the same at the same time.
//
// Where autogroups decide (docs/agent.md, "Scheduling groups"), the session's gets nice 19 too, if
// this process began the session. It returns what was done, for a log.
//
// An error is an *Error. FailedPrecondition: the process has a real-time policy, and was left as it
// is; or what was done counts within its session alone, which it shares with others or may not lower.
// PermissionDenied: nothing was done. Unimplemented: this is not Linux. The message has it in a
// sentence. No error is a reason not to work.
//
// A process that waits for the processor hears an answer late: on a machine that is never idle give
// Options.CheckDeadline a second or more.
func LowerPriority() (string, error) { return lowerPriority() }
