// Processes: what the agent reads and changes of the processes of this machine.
//
// A process is meant by its number and the instant at which it began, since numbers are used again.
// Who calls makes sure of that; see Yielder and Restore().
//
// Thread-compatible. LinuxProcesses is the real one.
//
//   if (const auto found = processes.Find(pid); found && found->started_ticks == known) ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headgate::agent {

// How a process is made to yield.
struct Means {
  enum class Kind : uint8_t {
    kGroup,      // moved into a child of its cpu cgroup, which has cpu.idle set
    kIdleClass,  // SCHED_IDLE
    kAutogroup,  // nice 19 for its autogroup
  };
  Kind kind = Kind::kIdleClass;
  std::string group = {};  // kGroup: the child's folder

  friend bool operator==(const Means&, const Means&) = default;
};

// What a process had before it was made to yield: as much of it as its means change.
struct Before {
  int policy = 0;          // as sched_getscheduler(2)
  int io_priority = 0;     // as ioprio_get(2)
  int autogroup_nice = 0;  // -20 to 19
  std::string group = {};  // kGroup: the folder of its cgroup

  friend bool operator==(const Before&, const Before&) = default;
};

class Processes {
 public:
  struct Found {
    uint64_t started_ticks = 0;  // since the machine began
    int parent = 0;
  };

  virtual ~Processes() = default;

  // Absent: there is no such process, or it may not be seen.
  virtual std::optional<Found> Find(int pid) = 0;

  // NotFound: there is no such process any more.
  virtual absl::StatusOr<Before> Read(int pid, const Means& means) = 0;

  // All threads of the process. Errors: NotFound, PermissionDenied, FailedPrecondition (it is none
  // that can yield by these means), Unavailable (the kernel takes no more now; once more in 0.1 s).
  virtual absl::Status Lower(int pid, const Means& means) = 0;
  virtual absl::Status Raise(int pid, const Means& means, const Before& before) = 0;

  // Processor time of its first thread so far; backends have no other.
  virtual std::optional<int64_t> ProcessorNs(int pid) = 0;
};

// For people: "a cgroup with cpu.idle", "SCHED_IDLE", "autogroup nice 19".
std::string NameOf(Means::Kind kind);

}  // namespace headgate::agent
