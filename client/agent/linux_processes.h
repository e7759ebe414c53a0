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

}  // namespace headgate::agent
