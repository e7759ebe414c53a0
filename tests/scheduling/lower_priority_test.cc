// The SDK's LowerPriority. It is here and not beside the rest of the SDK's tests because it forks,
// for which a program must have no threads of gRPC's.

#include <headgate/priority.h>
#include <sched.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/scheduling/kernel_file.h"
#include "client/scheduling/threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scheduling/autogroups.h"
#include "tests/scheduling/in_child.h"

namespace headgate::scheduling {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string LowerAndLook() {
  const absl::StatusOr<std::string> how = client::LowerPriority();
  return absl::StrCat(how.ok() ? *how : how.status().ToString(), "\npolicy ", sched_getscheduler(0),
                      IsIdleIo(IoPriorityOf(0)) ? ", idle I/O\n" : "\n",
                      ReadSmallFile("/proc/self/autogroup").value_or(""));
}

const std::string kIsLowered = absl::StrCat("\npolicy ", SCHED_IDLE, ", idle I/O\n");

TEST(LowerPriority, LowersTheProcessAndItsOwnSession) {
  const std::optional<std::string> before = ReadSmallFile("/proc/self/autogroup");
  const int policy = sched_getscheduler(0);
  const std::string looked = InChild([] {
    setsid();
    return LowerAndLook();
  });
  EXPECT_THAT(looked, AllOf(StartsWith("SCHED_IDLE, idle I/O"), HasSubstr(kIsLowered)));
  if (AutogroupsDecide()) {
    EXPECT_THAT(looked, AllOf(StartsWith("SCHED_IDLE, idle I/O, autogroup nice 19\n"),
                              HasSubstr(" nice 19\n")));
  }
  EXPECT_EQ(sched_getscheduler(0), policy);
  EXPECT_EQ(ReadSmallFile("/proc/self/autogroup"), before);
}

// Where autogroups decide nothing, a session is nothing to speak of.
TEST(LowerPriority, LeavesASessionThatIsSharedAndSaysThatItDoesNotCount) {
  const std::string looked = InChild([] {
    setsid();
    return InChild(LowerAndLook);
  });
  EXPECT_THAT(looked, StartsWith(AutogroupsDecide()
                                     ? "FAILED_PRECONDITION: SCHED_IDLE, idle I/O; it counts "
                                       "within this session alone"
                                     : "SCHED_IDLE, idle I/O"));
  EXPECT_THAT(looked, AllOf(HasSubstr(kIsLowered), Not(HasSubstr("nice 19"))));
  if (AutogroupsDecide()) {
    EXPECT_THAT(looked, HasSubstr(" nice 0\n"));
  }
}

// Such as a child of one that was lowered by `headgate run --nice`.
TEST(LowerPriority, IsContentWithASessionThatYields) {
  const std::string looked = InChild([] {
    setsid();
    client::LowerPriority().IgnoreError();
    return InChild(LowerAndLook);
  });
  EXPECT_THAT(looked,
              AllOf(StartsWith(AutogroupsDecide() ? "SCHED_IDLE, idle I/O, autogroup nice 19\n"
                                                  : "SCHED_IDLE, idle I/O"),
                    HasSubstr(kIsLowered)));
}

}  // namespace
}  // namespace headgate::scheduling
