// What files of /proc say, as far as the agent asks.
//
// Pure functions; thread-safe. Absent: the text is not what the kernel writes.
//
//   std::optional<ProcessStat> stat = ParseStat(text);
#pragma once

#include <cstdint>
#include <optional>
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

// Whether bit `capability` is in CapEff of /proc/PID/status.
bool HasCapability(std::string_view status, int capability);

// Whether /proc/PID/uid_map is that of a user namespace, and not the machine's own.
bool IsMapOfUserNamespace(std::string_view uid_map);

}  // namespace headgate::agent
