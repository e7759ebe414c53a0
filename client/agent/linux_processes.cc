#include "client/agent/linux_processes.h"

#include <sched.h>

#include <cerrno>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "client/agent/proc_text.h"
#include "client/scheduling/group_text.h"
#include "client/scheduling/kernel_file.h"
#include "client/scheduling/threads.h"

namespace headgate::agent {
namespace {

using scheduling::FindCpuGroup;
using scheduling::IoPriorityOf;
using scheduling::kIdleIo;
using scheduling::ParseAutogroupNice;
using scheduling::ReadSmallFile;
using scheduling::StatusOfErrno;
using scheduling::ThreadsOf;
using scheduling::WriteSmallFile;

constexpr int kLowestAutogroupNice = 19;

std::string ProcFile(int pid, const char* name) { return absl::StrCat("/proc/", pid, "/", name); }

// A thread that has just ended is no error, as long as there is another.
absl::Status ForEachThread(int pid, absl::FunctionRef<int(int tid)> act, const std::string& what) {
  const std::vector<int> threads = ThreadsOf(pid);
  if (threads.empty()) return absl::NotFoundError(absl::StrCat("no process ", pid));
  absl::Status status;
  for (const int tid : threads) {
    if (act(tid) == 0 || errno == ESRCH) continue;
    status.Update(StatusOfErrno(errno, what));
  }
  return status;
}

absl::Status SetPolicy(int pid, int policy, const std::string& what) {
  return ForEachThread(
      pid,
      [&](int tid) {
        const sched_param none = {};
        return sched_setscheduler(tid, policy, &none);
      },
      what);
}

void SetIoPriorities(int pid, int priority) {
  for (const int tid : ThreadsOf(pid)) scheduling::SetIoPriority(tid, priority);
}

absl::Status MoveInto(int pid, const std::string& group) {
  absl::Status status = WriteSmallFile(absl::StrCat(group, "/cgroup.procs"), absl::StrCat(pid));
  // What is not there may be the group.
  if (absl::IsNotFound(status) && sched_getscheduler(pid) >= 0) {
    return absl::FailedPreconditionError(status.message());
  }
  return status;
}

}  // namespace

std::string NameOf(Means::Kind kind) {
  switch (kind) {
    case Means::Kind::kGroup:
      return "a cgroup with cpu.idle";
    case Means::Kind::kIdleClass:
      return "SCHED_IDLE";
    case Means::Kind::kAutogroup:
      return "autogroup nice 19";
  }
  return "";
}

std::optional<Processes::Found> LinuxProcesses::Find(int pid) {
  const std::optional<std::string> text = ReadSmallFile(ProcFile(pid, "stat"));
  if (!text.has_value()) return std::nullopt;
  const std::optional<ProcessStat> stat = ParseStat(*text);
  if (!stat.has_value()) return std::nullopt;
  return Found{.started_ticks = stat->started_ticks, .parent = stat->parent};
}

absl::StatusOr<Before> LinuxProcesses::Read(int pid, const Means& means) {
  Before before;
  before.policy = sched_getscheduler(pid);
  if (before.policy < 0) return StatusOfErrno(errno, absl::StrCat("process ", pid));
  before.io_priority = IoPriorityOf(pid);
  if (before.io_priority < 0) before.io_priority = 0;
  if (means.kind == Means::Kind::kAutogroup) {
    const std::string file = ProcFile(pid, "autogroup");
    const std::optional<std::string> text = ReadSmallFile(file);
    if (!text.has_value()) return absl::FailedPreconditionError(absl::StrCat("there is no ", file));
    before.autogroup_nice = ParseAutogroupNice(*text).value_or(0);
  }
  if (means.kind == Means::Kind::kGroup) {
    const auto groups = ReadSmallFile(ProcFile(pid, "cgroup"));
    const auto mounts = ReadSmallFile("/proc/self/mountinfo");
    if (!groups.has_value()) return absl::NotFoundError(absl::StrCat("no process ", pid));
    const auto place = FindCpuGroup(*groups, mounts.value_or(""));
    if (!place.has_value()) return absl::FailedPreconditionError("its cpu cgroup is not seen");
    before.group = place->folder;
  }
  return before;
}

absl::Status LinuxProcesses::Lower(int pid, const Means& means) {
  const int policy = sched_getscheduler(pid);
  if (policy < 0) return StatusOfErrno(errno, absl::StrCat("process ", pid));
  const int plain = policy & ~SCHED_RESET_ON_FORK;
  if (plain != SCHED_OTHER && plain != SCHED_BATCH && plain != SCHED_IDLE) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", pid, " has a real-time policy, which is left as it is"));
  }
  absl::Status status;
  switch (means.kind) {
    case Means::Kind::kGroup:
      status = MoveInto(pid, means.group);
      break;
    case Means::Kind::kIdleClass:
      status = SetPolicy(pid, SCHED_IDLE | (policy & SCHED_RESET_ON_FORK), "sched_setscheduler");
      break;
    case Means::Kind::kAutogroup:
      status = WriteSmallFile(ProcFile(pid, "autogroup"), absl::StrCat(kLowestAutogroupNice));
      break;
  }
  if (status.ok()) SetIoPriorities(pid, kIdleIo);
  return status;
}

absl::Status LinuxProcesses::Raise(int pid, const Means& means, const Before& before) {
  SetIoPriorities(pid, before.io_priority);
  switch (means.kind) {
    case Means::Kind::kGroup:
      return MoveInto(pid, before.group);
    case Means::Kind::kIdleClass:
      return SetPolicy(pid, before.policy, "sched_setscheduler");
    case Means::Kind::kAutogroup:
      return WriteSmallFile(ProcFile(pid, "autogroup"), absl::StrCat(before.autogroup_nice));
  }
  return absl::OkStatus();
}

std::optional<int64_t> LinuxProcesses::ProcessorNs(int pid) {
  const std::optional<std::string> text = ReadSmallFile(ProcFile(pid, "schedstat"));
  return text.has_value() ? ParseSchedstat(*text) : std::nullopt;
}

}  // namespace headgate::agent
