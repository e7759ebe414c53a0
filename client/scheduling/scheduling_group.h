// SchedulingGroup: among whom a rank counts.
//
// The kernel shares the processor among groups first, and looks at classes and nice values only
// within one. A process is in the group of its cgroup, where that one has the cpu controller; else,
// where autogroups are on, in that of its session; else there is one group for all.
//
// The root of a hierarchy of version 1 can't be told from that of a cgroup namespace: it is taken
// for the root of all.
//
// Thread-safe.
//
//   if (OwnSchedulingGroup().kind == SchedulingGroup::Kind::kMachine) ...
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"

namespace headgate::scheduling {

struct SchedulingGroup {
  enum class Kind : uint8_t { kMachine, kCgroup, kAutogroup };
  Kind kind = Kind::kMachine;
  std::string cgroup = {};  // kCgroup: its folder
  int autogroup_nice = 0;   // kAutogroup: -20 to 19

  friend bool operator==(const SchedulingGroup&, const SchedulingGroup&) = default;
};

// What the kernel says of a process; empty: it says nothing.
struct GroupTexts {
  std::string cgroups;             // /proc/PID/cgroup
  std::string mounts;              // /proc/self/mountinfo
  std::string autogroups_enabled;  // /proc/sys/kernel/sched_autogroup_enabled
  std::string autogroup;           // /proc/PID/autogroup
};
// `is_there` says whether there is such a file.
SchedulingGroup FindSchedulingGroup(const GroupTexts& texts,
                                    absl::FunctionRef<bool(const std::string& path)> is_there);

// Of this process.
SchedulingGroup OwnSchedulingGroup();

}  // namespace headgate::scheduling
