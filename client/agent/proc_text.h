// What files of /proc say, as far as the agent asks.
//
// Pure functions; thread-safe. Absent: the text is not what the kernel writes.
//
//   std::optional<ProcessStat> stat = ParseStat(text);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::agent {

struct ProcessStat {
  int parent = 0;
  uint64_t started_ticks = 0;
};
// /proc/PID/stat. The name in it may have blanks and brackets.
std::optional<ProcessStat> ParseStat(std::string_view text);

// The first number of /proc/PID/schedstat: nanoseconds on a processor.
std::optional<int64_t> ParseSchedstat(std::string_view text);

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

// Whether bit `capability` is in CapEff of /proc/PID/status.
bool HasCapability(std::string_view status, int capability);

}  // namespace headgate::agent
