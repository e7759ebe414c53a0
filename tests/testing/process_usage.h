// What a process takes of the machine, as the kernel counts it. Pure functions of /proc.
//
//   absl::StatusOr<ProcessUsage> usage = UsageOf(server.pid());

#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate {

struct ProcessUsage {
  double rss_mib = 0;   // resident memory, all of it: what the kernel kills for
  double peak_mib = 0;  // the most that was resident since the process began
  int64_t files = 0;    // open descriptors
  int64_t threads = 0;
};

// NotFound: there is no such process, or it is not ours to look at.
absl::StatusOr<ProcessUsage> UsageOf(pid_t pid);

// For how long its threads were ready to run and had no processor: the sum of those that there are,
// since each began. By so much a machine that is busy with something else may make it late. Zero
// where the kernel does not count it.
absl::Duration WaitedForProcessor(pid_t pid);

}  // namespace headgate
