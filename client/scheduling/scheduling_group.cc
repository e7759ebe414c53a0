#include "client/scheduling/scheduling_group.h"

#include <unistd.h>

#include <cstddef>
#include <optional>

#include "client/scheduling/group_text.h"
#include "client/scheduling/kernel_file.h"

namespace headgate::scheduling {
namespace {

// The cgroup that is a scheduling group. In version 2 that is the next one upwards which has the
// controller: each but the root of all has a weight then.
std::optional<std::string> CgroupOf(const CpuGroupPlace& place,
                                    absl::FunctionRef<bool(const std::string& path)> is_there) {
  if (!place.unified) {
    return place.folder == place.mount ? std::nullopt : std::optional(place.folder);
  }
  std::string folder = place.folder;
  for (;;) {
    if (is_there(folder + "/cpu.weight")) return folder;
    const size_t slash = folder.rfind('/');
    if (folder.size() <= place.mount.size() || slash == std::string::npos) return std::nullopt;
    folder.resize(slash);
  }
}

}  // namespace

SchedulingGroup FindSchedulingGroup(const GroupTexts& texts,
                                    absl::FunctionRef<bool(const std::string& path)> is_there) {
  const std::optional<CpuGroupPlace> place = FindCpuGroup(texts.cgroups, texts.mounts);
  if (place.has_value()) {
    if (std::optional<std::string> cgroup = CgroupOf(*place, is_there)) {
      return {.kind = SchedulingGroup::Kind::kCgroup, .cgroup = *std::move(cgroup)};
    }
  }
  const std::optional<int> nice = ParseAutogroupNice(texts.autogroup);
  if (texts.autogroups_enabled.starts_with('1') && nice.has_value()) {
    return {.kind = SchedulingGroup::Kind::kAutogroup, .autogroup_nice = *nice};
  }
  return {};
}

SchedulingGroup OwnSchedulingGroup() {
  const auto read = [](const char* path) { return ReadSmallFile(path).value_or(""); };
  return FindSchedulingGroup(
      {.cgroups = read("/proc/self/cgroup"),
       .mounts = read("/proc/self/mountinfo"),
       .autogroups_enabled = read("/proc/sys/kernel/sched_autogroup_enabled"),
       .autogroup = read("/proc/self/autogroup")},
      [](const std::string& path) { return access(path.c_str(), F_OK) == 0; });
}

}  // namespace headgate::scheduling
