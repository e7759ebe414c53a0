// The kernel itself: children of this test are made to yield, and are as before afterwards.

#include "client/agent/linux_processes.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "client/agent/cpu_group.h"
#include "client/scheduling/kernel_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::agent {
namespace {

using scheduling::CpuGroupPlace;
using scheduling::ReadSmallFile;
using ::testing::HasSubstr;

bool IsRoot() { return geteuid() == 0; }

class LinuxProcessesTest : public ::testing::Test {
 protected:
  // The child begins a session of its own; until then its autogroup is this program's.
  void SetUp() override {
    ASSERT_TRUE(WaitUntil([&] { return getsid(child_.pid()) == child_.pid(); }));
  }
  // All that one of the means may change.
  Before StateOf(int pid) {
    Before all;
    for (const Means::Kind kind :
         {Means::Kind::kIdleClass, Means::Kind::kAutogroup, Means::Kind::kGroup}) {
      const absl::StatusOr<Before> some = processes_.Read(pid, {.kind = kind});
      if (!some.ok()) continue;
      all.policy = some->policy;
      all.io_priority = some->io_priority;
      if (kind == Means::Kind::kAutogroup) all.autogroup_nice = some->autogroup_nice;
      if (kind == Means::Kind::kGroup) all.group = some->group;
    }
    return all;
  }
  // Lowered by these means, and then as it was.
  void GoesThereAndBack(const Means& means, const Before& lowered) {
    const int pid = child_.pid();
    const Before before = StateOf(pid);
    const absl::StatusOr<Before> kept = processes_.Read(pid, means);
    ASSERT_TRUE(kept.ok()) << kept.status();
    ASSERT_TRUE(processes_.Lower(pid, means).ok()) << processes_.Lower(pid, means);
    EXPECT_EQ(StateOf(pid), lowered);
    ASSERT_TRUE(processes_.Raise(pid, means, *kept).ok());
    EXPECT_EQ(StateOf(pid), before);
  }

  static constexpr int kIoIdle = 3 << 13;

  LinuxProcesses processes_;
  Subprocess child_{{"sleep", "600"}};
};

TEST_F(LinuxProcessesTest, SchedIdleIsTakenBack) {
  if (!IsRoot()) GTEST_SKIP() << "taking back SCHED_IDLE takes CAP_SYS_NICE";
  Before lowered = StateOf(child_.pid());
  lowered.policy = SCHED_IDLE;
  lowered.io_priority = kIoIdle;
  GoesThereAndBack({.kind = Means::Kind::kIdleClass}, lowered);
}

TEST_F(LinuxProcessesTest, TheNiceValueOfAnAutogroupIsTakenBack) {
  if (!IsRoot()) GTEST_SKIP() << "a nice value goes down with CAP_SYS_NICE alone";
  if (!std::filesystem::exists("/proc/self/autogroup")) GTEST_SKIP() << "no autogroups here";
  Before lowered = StateOf(child_.pid());
  lowered.autogroup_nice = 19;
  lowered.io_priority = kIoIdle;
  GoesThereAndBack({.kind = Means::Kind::kAutogroup}, lowered);
}

TEST_F(LinuxProcessesTest, AMoveIntoAChildGroupIsTakenBackAndTheGroupIsGone) {
  absl::StatusOr<std::unique_ptr<CpuGroup>> group = CpuGroup::MakeBelow(child_.pid());
  if (!group.ok()) GTEST_SKIP() << group.status();
  const std::string folder = (*group)->folder();
  EXPECT_EQ(ReadSmallFile(folder + "/cpu.idle"), "1\n");
  Before lowered = StateOf(child_.pid());
  lowered.group = folder;
  lowered.io_priority = kIoIdle;
  GoesThereAndBack({.kind = Means::Kind::kGroup, .group = folder}, lowered);
}

TEST_F(LinuxProcessesTest, AProcessThatIsGoneIsNotFound) {
  const int pid = child_.pid();
  child_.Kill();
  child_.Wait();
  EXPECT_FALSE(processes_.Find(pid).has_value());
  for (const Means::Kind kind : {Means::Kind::kIdleClass, Means::Kind::kAutogroup}) {
    EXPECT_EQ(processes_.Lower(pid, {.kind = kind}).code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(processes_.Raise(pid, {.kind = kind}, {}).code(), absl::StatusCode::kNotFound);
  }
}

TEST_F(LinuxProcessesTest, RealTimeIsLeftAsItIs) {
  const sched_param first = {.sched_priority = 1};
  if (sched_setscheduler(child_.pid(), SCHED_FIFO, &first) != 0) {
    GTEST_SKIP() << "SCHED_FIFO takes CAP_SYS_NICE, and a share of real time";
  }
  EXPECT_EQ(processes_.Lower(child_.pid(), {.kind = Means::Kind::kIdleClass}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sched_getscheduler(child_.pid()), SCHED_FIFO);
}

// All threads, not the first alone.
TEST_F(LinuxProcessesTest, LowersEachThread) {
  if (!IsRoot()) GTEST_SKIP() << "taking back SCHED_IDLE takes CAP_SYS_NICE";
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<int> tid = 0;
  std::thread other([&] {
    tid = gettid();
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 0);
  });
  while (tid == 0) std::this_thread::yield();
  const Means means{.kind = Means::Kind::kIdleClass};
  const absl::StatusOr<Before> before = processes_.Read(getpid(), means);
  ASSERT_TRUE(processes_.Lower(getpid(), means).ok());
  EXPECT_EQ(sched_getscheduler(tid), SCHED_IDLE);
  ASSERT_TRUE(processes_.Raise(getpid(), means, *before).ok());
  EXPECT_EQ(sched_getscheduler(tid), SCHED_OTHER);
  close(ends[1]);
  other.join();
  close(ends[0]);
}

// Version 2 of cgroups, as far as plain files can stand for it.
TEST(CpuGroupTest, SaysWhyThereIsNone) {
  const TempFolder root;
  std::filesystem::create_directory(root.File("service"));
  const CpuGroupPlace place{.folder = root.File("service"), .mount = root.path(), .unified = true};
  const auto off = CpuGroup::MakeBelow(place);
  EXPECT_THAT(std::string(off.status().message()), HasSubstr("the cpu controller is off in"));
  root.WriteInPlace("service/cpu.weight", "100\n");
  root.WriteInPlace("service/cgroup.subtree_control", "");
  const auto old = CpuGroup::MakeBelow(place);
  EXPECT_THAT(std::string(old.status().message()), HasSubstr("Linux 5.15"));
  EXPECT_FALSE(std::filesystem::exists(root.File("service/headgate-yield")));
  EXPECT_EQ(CpuGroup::MakeBelow({.folder = "/proc/1", .mount = "/proc"}).ok(), false);
}

}  // namespace
}  // namespace headgate::agent
