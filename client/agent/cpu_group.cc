#include "client/agent/cpu_group.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/scheduling/group_text.h"
#include "client/scheduling/kernel_file.h"

namespace headgate::agent {
namespace {

using scheduling::CpuGroupPlace;
using scheduling::FindCpuGroup;
using scheduling::ReadSmallFile;
using scheduling::WriteSmallFile;

bool IsFile(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

absl::StatusOr<std::unique_ptr<CpuGroup>> CpuGroup::MakeBelow(int pid) {
  const auto groups = ReadSmallFile(absl::StrCat("/proc/", pid, "/cgroup"));
  const auto mounts = ReadSmallFile("/proc/self/mountinfo");
  const std::optional<CpuGroupPlace> place = FindCpuGroup(groups.value_or(""), mounts.value_or(""));
  if (!place.has_value()) {
    return absl::FailedPreconditionError("PostgreSQL's cpu cgroup is not seen from here");
  }
  return MakeBelow(*place);
}

absl::StatusOr<std::unique_ptr<CpuGroup>> CpuGroup::MakeBelow(const CpuGroupPlace& place) {
  if (place.folder.find_first_of("\t\n") != std::string::npos) {
    return absl::FailedPreconditionError(
        "the name of PostgreSQL's cgroup has a tab or a line's end");
  }
  // The root of all has the controller, and no weight.
  if (place.unified && place.folder != place.mount && !IsFile(place.folder + "/cpu.weight")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the cpu controller is off in ", place.folder,
                     "; Delegate=cpu in PostgreSQL's unit turns it on"));
  }
  std::unique_ptr<CpuGroup> group(new CpuGroup(place.folder));
  if (absl::Status status = group->Prepare(place.unified); !status.ok()) return status;
  return group;
}

absl::Status CpuGroup::Prepare(bool unified) {
  if (mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST) {
    const std::string what = absl::StrCat("cannot make ", folder_, ": ", std::strerror(errno));
    const bool is_forbidden = errno == EACCES || errno == EPERM || errno == EROFS;
    return is_forbidden ? absl::PermissionDeniedError(what) : absl::FailedPreconditionError(what);
  }
  const std::string idle = folder_ + "/cpu.idle";
  if (unified && !IsFile(idle)) {
    if (absl::Status status = HandDown(); !status.ok()) return status;
  }
  if (!IsFile(idle)) {
    return absl::FailedPreconditionError("cgroups have no cpu.idle, which came with Linux 5.15");
  }
  return WriteSmallFile(idle, "1");
}

absl::Status CpuGroup::HandDown() {
  const std::string children = parent_ + "/cgroup.subtree_control";
  absl::Status status = WriteSmallFile(children, "+cpu");
  if (!status.ok()) {
    if (absl::Status threaded = WriteSmallFile(folder_ + "/cgroup.type", "threaded");
        !threaded.ok()) {
      return threaded;
    }
    status = WriteSmallFile(children, "+cpu");
  }
  handed_down_ = status.ok();
  return status;
}

CpuGroup::~CpuGroup() {
  if (rmdir(folder_.c_str()) != 0 || !handed_down_) return;
  WriteSmallFile(parent_ + "/cgroup.subtree_control", "-cpu").IgnoreError();
}

}  // namespace headgate::agent
