#include "client/scheduling/lower.h"

#ifdef __linux__
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/scheduling/kernel_file.h"
#include "client/scheduling/threads.h"

namespace headgate::scheduling {

#ifdef __linux__

namespace {

constexpr int kLowestNice = 19;
// Threads that begin meanwhile may begin others: a pass finds what the one before it has missed.
constexpr int kPasses = 16;
// A tenth of a second is how long the kernel takes no other change.
constexpr absl::Duration kUntilNextChange = absl::Milliseconds(110);
constexpr int kTries = 20;

// By the kernel's own calls, since some C libraries refuse theirs for threads' sake.
int PolicyOf(int tid) { return static_cast<int>(syscall(SYS_sched_getscheduler, tid)); }

bool SetPolicy(int tid, int policy) {
  const sched_param none = {};
  return syscall(SYS_sched_setscheduler, tid, policy, &none) == 0;
}

// 0: the calling thread.
absl::StatusOr<Rank> LowerOne(int tid) {
  int policy = PolicyOf(tid);
  if (policy < 0 && errno == ESRCH) return StatusOfErrno(errno, "sched_getscheduler");
  if (policy < 0) policy = SCHED_OTHER;  // a filter of system calls; nice may still be allowed
  const int plain = policy & ~SCHED_RESET_ON_FORK;
  if (plain != SCHED_OTHER && plain != SCHED_BATCH && plain != SCHED_IDLE) {
    return absl::FailedPreconditionError("it has a real-time policy, which is left as it is");
  }
  Rank rank;
  if (!SetPolicy(tid, SCHED_IDLE | (policy & SCHED_RESET_ON_FORK))) {
    absl::Status refusal = StatusOfErrno(errno, "SCHED_IDLE");
    if (absl::IsNotFound(refusal)) return refusal;
    // On Linux this is a thread's own.
    if (setpriority(PRIO_PROCESS, static_cast<id_t>(tid), kLowestNice) != 0) {
      const absl::Status status = StatusOfErrno(errno, "nice 19");
      return absl::Status(status.code(), absl::StrCat(refusal.message(), "; ", status.message()));
    }
    rank.is_idle_class = false;
  }
  rank.is_idle_io = SetIoPriority(tid, kIdleIo);
  if (!rank.is_idle_io && errno == ESRCH) return StatusOfErrno(errno, "ioprio_set");
  return rank;
}

}  // namespace

absl::StatusOr<Rank> LowerThread() { return LowerOne(0); }

absl::StatusOr<Rank> LowerProcess() {
  Rank all;
  std::set<int> lowered;
  for (int pass = 0; pass < kPasses; ++pass) {
    bool is_another = false;
    for (const int tid : ThreadsOf(getpid())) {
      if (!lowered.insert(tid).second) continue;
      is_another = true;
      const absl::StatusOr<Rank> rank = LowerOne(tid);
      if (absl::IsNotFound(rank.status())) continue;  // it has just ended
      if (!rank.ok()) return rank.status();
      all.is_idle_class &= rank->is_idle_class;
      all.is_idle_io &= rank->is_idle_io;
    }
    if (!is_another) break;
  }
  if (lowered.empty()) {
    return absl::FailedPreconditionError("/proc does not show the threads of this process");
  }
  return all;
}

absl::Status LowerAutogroup(int pid, absl::FunctionRef<void(absl::Duration)> wait) {
  const std::string file = absl::StrCat("/proc/", pid, "/autogroup");
  for (int tries = 1;; ++tries) {
    absl::Status status = WriteSmallFile(file, absl::StrCat(kLowestNice));
    if (!absl::IsUnavailable(status) || tries == kTries) return status;
    wait(kUntilNextChange);
  }
}

#else

namespace {

absl::Status NotHere() {
  return absl::UnimplementedError("a process lowers its own priority on Linux only");
}

}  // namespace

absl::StatusOr<Rank> LowerThread() { return NotHere(); }
absl::StatusOr<Rank> LowerProcess() { return NotHere(); }
absl::Status LowerAutogroup(int, absl::FunctionRef<void(absl::Duration)>) { return NotHere(); }

#endif

std::string Describe(const Lowered& lowered) {
  using Autogroup = Lowered::Autogroup;
  std::string text =
      absl::StrCat(lowered.rank.is_idle_class ? "SCHED_IDLE" : "nice 19 (SCHED_IDLE is refused)",
                   lowered.rank.is_idle_io ? ", idle I/O" : ", I/O as before (idle I/O is refused)",
                   lowered.autogroup == Autogroup::kLowered ? ", autogroup nice 19" : "");
  if (lowered.group.kind == SchedulingGroup::Kind::kCgroup) {
    absl::StrAppend(&text, "; it counts within the cgroup ", lowered.group.cgroup,
                    ", whose weight is what counts against others");
  } else if (!lowered.Counts()) {
    absl::StrAppend(&text, "; it counts within this session alone, since autogroups are on, and ",
                    lowered.autogroup == Autogroup::kShared
                        ? "the session has other processes too, which are left as they are; "
                          "setsid gives it one of its own"
                        : lowered.refusal.message());
  }
  return text;
}

}  // namespace headgate::scheduling
