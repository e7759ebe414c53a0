// What a process takes of the machine, as the kernel counts it. Pure functions of /proc.
//
//   absl::StatusOr<ProcessUsage> usage = UsageOf(server.pid());

#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace headgate {

struct ProcessUsage {
  double rss_mib = 0;   // resident memory, all of it: what the kernel kills for
  double peak_mib = 0;  // the most that was resident since the process began
  int64_t files = 0;    // open descriptors
  int64_t threads = 0;
};

// NotFound: there is no such process, or it is not ours to look at.
absl::StatusOr<ProcessUsage> UsageOf(pid_t pid);

}  // namespace headgate
