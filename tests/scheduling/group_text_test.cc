#include "client/scheduling/group_text.h"

#include "gtest/gtest.h"

namespace headgate::scheduling {
namespace {

TEST(GroupText, ReadsTheNiceValueOfAnAutogroup) {
  EXPECT_EQ(ParseAutogroupNice("/autogroup-11 nice 0\n"), 0);
  EXPECT_EQ(ParseAutogroupNice("/autogroup-11 nice -5\n"), -5);
  EXPECT_EQ(ParseAutogroupNice(""), std::nullopt);
}

constexpr char kVersion1[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr char kVersion2[] =
    "30 23 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(GroupText, FindsTheCpuCgroup) {
  struct Case {
    const char* what;
    const char* cgroups;
    const char* mounts;
    const char* folder;  // null: it is not seen
    bool unified;
  };
  const Case cases[] = {
      {"version 1, at the root", "9:name=systemd:/\n1:cpu,cpuacct:/\n0::/\n", kVersion1,
       "/sys/fs/cgroup/cpu,cpuacct", false},
      {"version 1, in a service", "1:cpuacct,cpu:/system.slice/pg\n0::/x\n", kVersion1,
       "/sys/fs/cgroup/cpu,cpuacct/system.slice/pg", false},
      {"version 2", "0::/system.slice/postgresql@15-main.service\n", kVersion2,
       "/sys/fs/cgroup/system.slice/postgresql@15-main.service", true},
      {"version 2, at the root", "0::/\n", kVersion2, "/sys/fs/cgroup", true},
      {"a part of the hierarchy", "0::/docker/1/pg\n",
       "30 23 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/pg", true},
      {"another part", "0::/docker/2\n",
       "30 23 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", nullptr, true},
      {"outside of the namespace", "0::/../other\n", kVersion2, nullptr, true},
      {"a blank in the name", "0::/a b\n", "30 23 0:27 / /sys/fs/c\\040g ro - cgroup2 c rw\n",
       "/sys/fs/c g/a b", true},
      {"no mount", "0::/\n", "31 23 0:28 / /tmp rw - tmpfs tmpfs rw\n", nullptr, true},
  };
  for (const Case& one : cases) {
    const auto place = FindCpuGroup(one.cgroups, one.mounts);
    ASSERT_EQ(place.has_value(), one.folder != nullptr) << one.what;
    if (!place.has_value()) continue;
    EXPECT_EQ(place->folder, one.folder) << one.what;
    EXPECT_EQ(place->unified, one.unified) << one.what;
  }
}

}  // namespace
}  // namespace headgate::scheduling
