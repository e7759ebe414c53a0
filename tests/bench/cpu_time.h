// What a process of one thread, such as a backend of PostgreSQL, has used of the processors: in
// nanoseconds, as the kernel's scheduler counts it. What /proc/PID/stat says is in hundredths of a
// second.

#pragma once

#include <cstdint>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate {

// Zero where there is no such process.
inline absl::Duration CpuTimeOf(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/schedstat"));
  int64_t nanoseconds = 0;
  file >> nanoseconds;
  return absl::Nanoseconds(nanoseconds);
}

}  // namespace headgate
