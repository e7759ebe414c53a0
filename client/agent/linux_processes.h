// LinuxProcesses: the processes of this machine, by /proc, sched_setscheduler(2), ioprio_set(2) and
// cgroups.
//
// sched_setscheduler keeps a thread's nice value, so that going to SCHED_IDLE and back leaves no
// trace. From there back to SCHED_OTHER the kernel wants CAP_SYS_NICE, or a limit of nice that
// allows as much.
//
// The I/O priority goes along with each means; where it may not be set, which is no error, the
// scheduler alone makes the process yield.
//
// Thread-compatible.
//
//   LinuxProcesses processes;
//   absl::Status status = processes.Lower(pid, {.kind = Means::Kind::kIdleClass});
#pragma once

#include "client/agent/processes.h"

namespace headgate::agent {

class LinuxProcesses final : public Processes {
 public:
  std::optional<Found> Find(int pid) override;
  absl::StatusOr<Before> Read(int pid, const Means& means) override;
  absl::Status Lower(int pid, const Means& means) override;
  absl::Status Raise(int pid, const Means& means, const Before& before) override;
  std::optional<int64_t> ProcessorNs(int pid) override;
};

// Whether an I/O priority is that of the idle class.
bool IsIdleIo(int io_priority);

// A small file, such as those of /proc; absent: it can't be read.
std::optional<std::string> ReadSmallFile(const std::string& path);
// Writes to a file of the kernel's in one piece.
absl::Status WriteSmallFile(const std::string& path, const std::string& text);

}  // namespace headgate::agent
