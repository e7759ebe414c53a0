#include "client/scheduling/threads.h"

#include <dirent.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace headgate::scheduling {

std::vector<int> ThreadsOf(int pid) {
  std::vector<int> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(
      opendir(absl::StrCat("/proc/", pid, "/task").c_str()), closedir);
  if (folder == nullptr) return threads;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own.
  while (const dirent* const entry = readdir(folder.get())) {
    int tid = 0;
    if (absl::SimpleAtoi(entry->d_name, &tid)) threads.push_back(tid);
  }
  return threads;
}

#ifdef __linux__

namespace {
constexpr int kWhoProcess = 1;
}

int IoPriorityOf(int tid) { return static_cast<int>(syscall(SYS_ioprio_get, kWhoProcess, tid)); }

bool SetIoPriority(int tid, int priority) {
  // Of the class "none" there is one priority, whatever ioprio_get says.
  const int known = priority >> kIoClassShift == 0 ? 0 : priority;
  return syscall(SYS_ioprio_set, kWhoProcess, tid, known) == 0;
}

#else

int IoPriorityOf(int) {
  errno = ENOSYS;
  return -1;
}

bool SetIoPriority(int, int) {
  errno = ENOSYS;
  return false;
}

#endif

}  // namespace headgate::scheduling
