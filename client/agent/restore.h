// Has everything that a journal holds be as it was: for the agent's end, its watchdog, and the next
// start.
//
// A process whose number was used again began at another instant, and is never touched.
//
//   const Restored done = Restore(journal, processes);
//   if (!done.left.ok()) ...
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "client/agent/journal.h"
#include "client/agent/processes.h"

namespace headgate::agent {

struct Restored {
  size_t raised = 0;  // are as they were
  size_t gone = 0;    // have ended
  absl::Status left;  // why some are not as they were: Unavailable where it can be tried again
};

Restored Restore(Journal& journal, Processes& processes);

// One of them. NotFound: it has ended, and its number may be another's. OK and NotFound cross it
// out.
absl::Status RestoreOne(const Record& record, Journal& journal, Processes& processes);

}  // namespace headgate::agent
