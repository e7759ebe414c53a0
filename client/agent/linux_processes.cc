#include "client/agent/linux_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/agent/proc_text.h"
#include "common/file_descriptor.h"

namespace headgate::agent {
namespace {

// Of ioprio_set(2), which glibc has no header for.
constexpr int kIoWhoProcess = 1;
constexpr int kIoClassShift = 13;
constexpr int kIoIdle = 3 << kIoClassShift;

constexpr int kLowestAutogroupNice = 19;

std::string ProcFile(int pid, const char* name) { return absl::StrCat("/proc/", pid, "/", name); }

int IoPriorityOf(int tid) { return static_cast<int>(syscall(SYS_ioprio_get, kIoWhoProcess, tid)); }

void SetIoPriority(int tid, int priority) {
  // Of the class "none" there is one priority, whatever ioprio_get says.
  const int known = priority >> kIoClassShift == 0 ? 0 : priority;
  syscall(SYS_ioprio_set, kIoWhoProcess, tid, known);
}

absl::Status StatusOfErrno(int error, const std::string& what) {
  const std::string text = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ESRCH:
    case ENOENT:
      return absl::NotFoundError(text);
    case EPERM:
    case EACCES:
    case EROFS:
      return absl::PermissionDeniedError(text);
    case EAGAIN:
      return absl::UnavailableError(text);
    default:
      return absl::FailedPreconditionError(text);
  }
}

std::vector<int> ThreadsOf(int pid) {
  std::vector<int> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(ProcFile(pid, "task").c_str()),
                                                   closedir);
  if (folder == nullptr) return threads;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own.
  while (const dirent* const entry = readdir(folder.get())) {
    int tid = 0;
    if (absl::SimpleAtoi(entry->d_name, &tid)) threads.push_back(tid);
  }
  return threads;
}

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
  for (const int tid : ThreadsOf(pid)) SetIoPriority(tid, priority);
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

bool IsIdleIo(int io_priority) { return io_priority >> kIoClassShift == kIoIdle >> kIoClassShift; }

std::optional<std::string> ReadSmallFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return std::nullopt;
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
  }
}

absl::Status WriteSmallFile(const std::string& path, const std::string& text) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.ok()) return StatusOfErrno(errno, path);
  if (write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return StatusOfErrno(errno, path);
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
  if (status.ok()) SetIoPriorities(pid, kIoIdle);
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
