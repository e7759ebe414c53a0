// Threads of a process, and their I/O priorities.
//
// Thread-safe.
//
//   for (const int tid : ThreadsOf(getpid())) SetIoPriority(tid, kIdleIo);
#pragma once

#include <vector>

namespace headgate::scheduling {

// Empty: there is no such process, or it can't be seen.
std::vector<int> ThreadsOf(int pid);

// As ioprio_get(2) and ioprio_set(2) have it, for which glibc has no header.
inline constexpr int kIoClassShift = 13;
inline constexpr int kIdleIo = 3 << kIoClassShift;

constexpr bool IsIdleIo(int priority) {
  return priority >> kIoClassShift == kIdleIo >> kIoClassShift;
}

// Of one thread; 0: the calling one. They are below 0 and false where errno says why not.
int IoPriorityOf(int tid);
bool SetIoPriority(int tid, int priority);

}  // namespace headgate::scheduling
