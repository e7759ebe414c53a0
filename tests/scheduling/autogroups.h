// Whether the kernel shares the processor among sessions here, which decides what lowering one
// does.
//
// It is asked of a session that has just begun, as those of the tests do, and not of the tests'
// own: the first session of a machine, in which they may run as well, has no autogroup.
//
//   EXPECT_EQ(getsid(command), AutogroupsDecide() ? command : script.pid());
#pragma once

#include <unistd.h>

#include <string>

#include "client/scheduling/kernel_file.h"
#include "client/scheduling/scheduling_group.h"

namespace headgate::scheduling {

inline bool AutogroupsDecide() {
  const auto read = [](const char* path) { return ReadSmallFile(path).value_or(""); };
  const SchedulingGroup group = FindSchedulingGroup(
      {.cgroups = read("/proc/self/cgroup"),
       .mounts = read("/proc/self/mountinfo"),
       .autogroups_enabled = read("/proc/sys/kernel/sched_autogroup_enabled"),
       .autogroup = "/autogroup-1 nice 0\n"},
      [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; });
  return group.kind == SchedulingGroup::Kind::kAutogroup;
}

}  // namespace headgate::scheduling
