// The kernel itself: forked children of this test are lowered.

#include "client/scheduling/lower.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/scheduling/kernel_file.h"
#include "client/scheduling/threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scheduling/in_child.h"

namespace headgate::scheduling {
namespace {

using ::testing::HasSubstr;

std::string Ranks(const absl::StatusOr<Rank>& rank) {
  if (!rank.ok()) return rank.status().ToString();
  return absl::StrCat(rank->is_idle_class ? "SCHED_IDLE" : "nice", " ",
                      rank->is_idle_io ? "idle" : "as before");
}

// A thread that is ending has no I/O priority any more, and is still listed for a moment.
bool IsLoweredOrEnds(int tid) {
  constexpr int kMostLooks = 10'000;
  for (int i = 0; i < kMostLooks; ++i) {
    const int policy = sched_getscheduler(tid);
    const int io = IoPriorityOf(tid);
    if (policy < 0 || io < 0 || (policy == SCHED_IDLE && IsIdleIo(io))) return true;
    std::this_thread::yield();
  }
  return false;
}

void NeverWaits(absl::Duration) { FAIL() << "it waits"; }

// Whether this thread's system call of that number is refused from here on, by a filter as
// containers have it.
bool RefuseCall(uint32_t number) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {.len = std::size(filter), .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Lower, OneThreadLeavesTheOthersAlone) {
  EXPECT_EQ(InChild([] {
              const int before = sched_getscheduler(0);
              std::string text;
              std::thread([&] {
                text = Ranks(LowerThread());
                absl::StrAppend(&text, ", ", sched_getscheduler(0));
              }).join();
              return text + (sched_getscheduler(0) == before ? "; this one as before" : "");
            }),
            absl::StrCat("SCHED_IDLE idle, ", SCHED_IDLE, "; this one as before"));
}

// Those included that begin while it looks, and after it.
TEST(Lower, AProcessIsAllOfItsThreads) {
  const int before = sched_getscheduler(0);
  EXPECT_EQ(InChild([] {
              std::atomic<bool> is_over = false;
              std::vector<std::thread> threads;
              std::latch has_begun(4);
              for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&] {
                  has_begun.count_down();
                  // relaxed: nothing is read besides.
                  while (!is_over.load(std::memory_order_relaxed)) std::thread([] {}).join();
                });
              }
              has_begun.wait();
              std::string text = Ranks(LowerProcess());
              threads.emplace_back(
                  [&] { absl::StrAppend(&text, ", a later one ", sched_getscheduler(0)); });
              threads.back().join();
              threads.pop_back();
              int others = 0;
              for (const int tid : ThreadsOf(getpid())) {
                if (!IsLoweredOrEnds(tid)) ++others;
              }
              is_over = true;
              for (std::thread& thread : threads) thread.join();
              return absl::StrCat(text, ", not lowered ", others);
            }),
            absl::StrCat("SCHED_IDLE idle, a later one ", SCHED_IDLE, ", not lowered 0"));
  EXPECT_EQ(sched_getscheduler(0), before);
}

TEST(Lower, ASecondTimeDoesNoHarm) {
  EXPECT_EQ(InChild([] {
              LowerProcess().IgnoreError();
              return Ranks(LowerProcess());
            }),
            "SCHED_IDLE idle");
}

TEST(Lower, IsNiceWhereTheClassIsRefused) {
  EXPECT_EQ(InChild([] {
              if (!RefuseCall(SYS_sched_setscheduler)) return std::string("no seccomp");
              const std::string ranks = Ranks(LowerProcess());
              return absl::StrCat(ranks, ", ", getpriority(PRIO_PROCESS, 0));
            }),
            "nice idle, 19");
}

TEST(Lower, SaysWhatWasRefused) {
  EXPECT_EQ(
      InChild([] {
        const bool refused = RefuseCall(SYS_sched_setscheduler) && RefuseCall(SYS_setpriority);
        return refused ? Ranks(LowerThread()) : std::string("no seccomp");
      }),
      "PERMISSION_DENIED: SCHED_IDLE: Operation not permitted; nice 19: Operation not permitted");
  EXPECT_EQ(InChild([] {
              if (!RefuseCall(SYS_ioprio_set)) return std::string("no seccomp");
              return Ranks(LowerThread());
            }),
            "SCHED_IDLE as before");
}

TEST(Lower, RealTimeIsLeftAsItIs) {
  const std::string said = InChild([] {
    const sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) return std::string();
    const std::string ranks = Ranks(LowerProcess());
    return absl::StrCat(ranks, ", ", sched_getscheduler(0));
  });
  if (said.empty()) GTEST_SKIP() << "SCHED_FIFO takes CAP_SYS_NICE, and a share of real time";
  EXPECT_EQ(said,
            absl::StrCat("FAILED_PRECONDITION: it has a real-time policy, which is left as it is, ",
                         SCHED_FIFO));
}

TEST(Lower, AnAutogroupIsItsSessionsAlone) {
  const std::optional<std::string> before = ReadSmallFile("/proc/self/autogroup");
  if (!before.has_value()) GTEST_SKIP() << "no autogroups here";
  EXPECT_THAT(InChild([] {
                setsid();
                // Without CAP_SYS_ADMIN the kernel may want another try a moment later.
                const absl::Status status = LowerAutogroup(getpid(), [](absl::Duration) {});
                if (absl::IsUnavailable(status)) return std::string(" nice 19\n");
                return ReadSmallFile("/proc/self/autogroup").value_or("");
              }),
              HasSubstr(" nice 19\n"));
  EXPECT_EQ(ReadSmallFile("/proc/self/autogroup"), before);
  EXPECT_TRUE(absl::IsNotFound(LowerAutogroup(0x7fffffff, NeverWaits)));
}

TEST(Lower, IsDescribedInASentence) {
  using Autogroup = Lowered::Autogroup;
  EXPECT_EQ(Describe({}), "SCHED_IDLE, idle I/O");
  EXPECT_EQ(Describe({.autogroup = Autogroup::kLowered}),
            "SCHED_IDLE, idle I/O, autogroup nice 19");
  EXPECT_EQ(Describe({.rank = {.is_idle_class = false, .is_idle_io = false}}),
            "nice 19 (SCHED_IDLE is refused), I/O as before (idle I/O is refused)");
  EXPECT_EQ(
      Describe({.group = {.kind = SchedulingGroup::Kind::kCgroup, .cgroup = "/sys/fs/cgroup/job"}}),
      "SCHED_IDLE, idle I/O; it counts within the cgroup /sys/fs/cgroup/job, whose weight is "
      "what counts against others");
  const Lowered shared{.autogroup = Autogroup::kShared};
  EXPECT_FALSE(shared.Counts());
  EXPECT_EQ(
      Describe(shared),
      "SCHED_IDLE, idle I/O; it counts within this session alone, since autogroups are on, and "
      "the session has other processes too, which are left as they are; setsid gives it one of "
      "its own");
  const Lowered refused{.autogroup = Autogroup::kRefused,
                        .refusal = absl::PermissionDeniedError("/proc/7/autogroup: no")};
  EXPECT_FALSE(refused.Counts());
  EXPECT_THAT(Describe(refused), HasSubstr("since autogroups are on, and /proc/7/autogroup: no"));
}

}  // namespace
}  // namespace headgate::scheduling
