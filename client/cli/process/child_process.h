// Runs other programs.
//
// What ends a program counts as shells count it: its exit status, or 128+n when signal n ended it.
// A program that can't be started is an error with NotFound (127 for a shell) or PermissionDenied
// (126); one of which nobody knows how it ended is Internal.
//
// One program at a time; signals are a process' own.
//
//   absl::StatusOr<int> status = RunInForeground({"psql", "-c", "VACUUM orders"});

#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace headgate::cli {

// Gives the program this one's terminal and streams, and returns when it has ended. Meanwhile
// signals that ask a program to end or to act (HUP, INT, QUIT, TERM, USR1, USR2) are passed on to
// it instead of ending this program; those that the terminal sends to both arrive only once.
absl::StatusOr<int> RunInForeground(const std::vector<std::string>& command);
// The same at idle priority (idle_child.h); what was done for that is said once it has begun.
absl::StatusOr<int> RunInForegroundIdle(const std::vector<std::string>& command,
                                        absl::FunctionRef<void(const std::string&)> say);

struct Captured {
  int status = 0;
  std::string output;  // stdout and stderr, as they came
};
absl::StatusOr<Captured> RunAndCapture(const std::vector<std::string>& command);

}  // namespace headgate::cli
