// What files of /proc say of the groups among which the processor is shared.
//
// Pure functions; thread-safe. Absent: the text is not what the kernel writes.
//
//   std::optional<CpuGroupPlace> place = FindCpuGroup(cgroups, mounts);
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate::scheduling {

// "/autogroup-11 nice 0", of /proc/PID/autogroup.
std::optional<int> ParseAutogroupNice(std::string_view text);

// Where the cgroup is that the cpu controller sees a process in.
struct CpuGroupPlace {
  std::string folder;
  std::string mount;     // the folder of the hierarchy's root, as far as it is seen from here
  bool unified = false;  // version 2
};
// From /proc/PID/cgroup and the reader's own /proc/self/mountinfo.
std::optional<CpuGroupPlace> FindCpuGroup(std::string_view cgroups, std::string_view mounts);

}  // namespace headgate::scheduling
