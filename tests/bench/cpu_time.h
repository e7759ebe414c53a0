// What a process has used of the processors, as the kernel counts it.

#pragma once

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate {

// Zero where there is no such process.
inline absl::Duration CpuTimeOf(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  std::getline(file, line);
  // Behind the name, which may hold anything: state, ten numbers, and then the two that count.
  const size_t name_ends = line.rfind(')');
  if (name_ends == std::string::npos) return absl::ZeroDuration();
  std::istringstream fields(line.substr(name_ends + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return absl::Seconds((user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace headgate
