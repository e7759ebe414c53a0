#include "client/agent/cpu_limit.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/scheduling/kernel_file.h"
#include "client/scheduling/scheduling_group.h"

namespace headgate::agent {
namespace {

using scheduling::CpuGroupPlace;
using scheduling::FindCpuGroup;
using scheduling::ReadSmallFile;

// From a quota and a period. The kernel writes "max" or -1 where there is no limit.
std::optional<double> Processors(absl::string_view quota, absl::string_view period) {
  int64_t quota_us = 0, period_us = 0;
  if (!absl::SimpleAtoi(quota, &quota_us) || !absl::SimpleAtoi(period, &period_us) ||
      quota_us <= 0 || period_us <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(quota_us) / static_cast<double>(period_us);
}

std::string CgroupsOf(int pid) {
  return ReadSmallFile(absl::StrCat("/proc/", pid, "/cgroup")).value_or("");
}
std::string Mounts() { return ReadSmallFile("/proc/self/mountinfo").value_or(""); }

std::optional<CpuGroupPlace> PlaceIn(const std::string& cgroups) {
  return FindCpuGroup(cgroups, Mounts());
}

}  // namespace

std::optional<double> ProcessorLimit(
    const CpuGroupPlace& place,
    absl::FunctionRef<std::optional<std::string>(const std::string& path)> read) {
  std::optional<double> least;
  const auto read_in = [&](const std::string& folder, const char* file) {
    return read(absl::StrCat(folder, "/", file)).value_or("");
  };
  for (std::string folder = place.folder;;) {
    const std::string texts = place.unified ? read_in(folder, "cpu.max")
                                            : absl::StrCat(read_in(folder, "cpu.cfs_quota_us"), " ",
                                                           read_in(folder, "cpu.cfs_period_us"));
    const std::vector<absl::string_view> words =
        absl::StrSplit(texts, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    if (words.size() == 2) {
      const std::optional<double> limit = Processors(words[0], words[1]);
      if (limit.has_value()) least = std::min(least.value_or(*limit), *limit);
    }
    const size_t slash = folder.rfind('/');
    if (folder.size() <= place.mount.size() || slash == std::string::npos) return least;
    folder.resize(slash);
  }
}

double ProcessorsOf(int pid) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool is_known = sched_getaffinity(pid, sizeof(allowed), &allowed) == 0;
  const double processors = is_known ? std::max(CPU_COUNT(&allowed), 1) : 1;
  const std::optional<CpuGroupPlace> place = PlaceIn(CgroupsOf(pid));
  if (!place.has_value()) return 1;
  return std::min(processors, ProcessorLimit(*place, ReadSmallFile).value_or(processors));
}

Range RangeOf(int pid) {
  const std::string groups = CgroupsOf(pid);
  const std::optional<CpuGroupPlace> place = PlaceIn(groups);
  if (!place.has_value()) {
    return {
        .within = "within PostgreSQL's cgroup, which is not seen from here",
        .limit = "a limit of the processor there, if it has one, is used up by what yields too"};
  }
  Range range;
  const scheduling::SchedulingGroup group = scheduling::FindSchedulingGroup(
      {.cgroups = groups, .mounts = Mounts(), .autogroups_enabled = "", .autogroup = ""},
      [](const std::string& path) { return access(path.c_str(), F_OK) == 0; });
  if (!group.cgroup.empty()) range.within = absl::StrCat("within the cgroup ", group.cgroup);
  if (const std::optional<double> limit = ProcessorLimit(*place, ReadSmallFile)) {
    range.limit = absl::StrFormat(
        "PostgreSQL may use %.2f processors there, and what yields uses them up too", *limit);
  }
  return range;
}

}  // namespace headgate::agent
