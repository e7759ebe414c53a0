#include "tests/testing/process_usage.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace headgate {

absl::StatusOr<ProcessUsage> UsageOf(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  ProcessUsage usage;
  std::ifstream status(folder + "/status");
  std::string key;
  while (status >> key) {
    if (key == "VmRSS:") {
      status >> usage.rss_mib;
      usage.rss_mib /= 1024;
    } else if (key == "VmHWM:") {
      status >> usage.peak_mib;
      usage.peak_mib /= 1024;
    } else if (key == "Threads:") {
      status >> usage.threads;
    }
    status.ignore(4096, '\n');
  }
  std::error_code error;
  const std::filesystem::directory_iterator files(folder + "/fd", error);
  // A process that has ended and was not waited for has a status, but no memory.
  if (error || usage.threads == 0 || usage.rss_mib == 0) {
    return absl::NotFoundError(absl::StrCat("there is no process ", pid));
  }
  usage.files = std::distance(begin(files), end(files));
  return usage;
}

absl::Duration WaitedForProcessor(pid_t pid) {
  absl::Duration waited;
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), error)) {
    std::ifstream counts(thread.path() / "schedstat");
    int64_t ran_ns = 0;
    int64_t waited_ns = 0;
    if (counts >> ran_ns >> waited_ns) waited += absl::Nanoseconds(waited_ns);
  }
  return waited;
}

}  // namespace headgate
