#include "client/scheduling/scheduling_group.h"

#include <set>

#include "gtest/gtest.h"

namespace headgate::scheduling {
namespace {

SchedulingGroup Cgroup(const std::string& folder) {
  return {.kind = SchedulingGroup::Kind::kCgroup, .cgroup = folder};
}

TEST(SchedulingGroup, IsTheCgroupElseTheAutogroupElseTheMachine) {
  constexpr char kVersion1[] =
      "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  constexpr char kVersion2[] = "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
  constexpr char kAutogroup[] = "/autogroup-11 nice 5\n";
  const SchedulingGroup autogroup{.kind = SchedulingGroup::Kind::kAutogroup, .autogroup_nice = 5};
  struct Case {
    const char* what;
    GroupTexts texts;
    std::set<std::string> files;
    SchedulingGroup group;
  };
  const Case cases[] = {
      {"nothing is known", {}, {}, {}},
      {"autogroups are on", {"1:cpu:/\n", kVersion1, "1\n", kAutogroup}, {}, autogroup},
      {"autogroups are off", {"1:cpu:/\n", kVersion1, "0\n", kAutogroup}, {}, {}},
      {"a kernel without autogroups", {"1:cpu:/\n", kVersion1, "", ""}, {}, {}},
      {"a service of version 1",
       {"1:cpu:/system.slice/job\n0::/\n", kVersion1, "1\n", kAutogroup},
       {},
       Cgroup("/sys/fs/cgroup/cpu/system.slice/job")},
      {"a service of version 2 with the controller",
       {"0::/system.slice/job.service\n", kVersion2, "1\n", kAutogroup},
       {"/sys/fs/cgroup/system.slice/job.service/cpu.weight",
        "/sys/fs/cgroup/system.slice/cpu.weight"},
       Cgroup("/sys/fs/cgroup/system.slice/job.service")},
      {"only what is above has the controller",
       {"0::/system.slice/job.service\n", kVersion2, "1\n", kAutogroup},
       {"/sys/fs/cgroup/system.slice/cpu.weight"},
       Cgroup("/sys/fs/cgroup/system.slice")},
      {"nobody has the controller",
       {"0::/system.slice/job.service\n", kVersion2, "1\n", kAutogroup},
       {},
       autogroup},
      {"the root of a container of version 2",
       {"0::/\n", kVersion2, "1\n", kAutogroup},
       {"/sys/fs/cgroup/cpu.weight"},
       Cgroup("/sys/fs/cgroup")},
  };
  for (const Case& one : cases) {
    const auto is_there = [&](const std::string& path) { return one.files.count(path) > 0; };
    EXPECT_EQ(FindSchedulingGroup(one.texts, is_there), one.group) << one.what;
  }
}

}  // namespace
}  // namespace headgate::scheduling
