// CpuGroup: a child of PostgreSQL's cpu cgroup whose processes run when nobody else of that cgroup
// wants to.
//
// Version 1 takes a folder and cpu.idle. In version 2 a cgroup that has processes can't hand
// the cpu controller down to children, unless those are threaded: then PostgreSQL's cgroup stays
// the domain of memory and I/O, and its backends are counted there as before. The controller has to
// be on in PostgreSQL's own cgroup; where it is not, that one is no scheduling group, and a child
// would be nobody's.
//
// The child is removed by the destructor if it is empty, which it is where all is restored.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<CpuGroup>> group = CpuGroup::MakeBelow(postmaster);
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/scheduling/group_text.h"

namespace headgate::agent {

class CpuGroup {
 public:
  static constexpr char kName[] = "headgate-yield";

  // Below the cgroup of this process. FailedPrecondition or PermissionDenied say why it can't be.
  static absl::StatusOr<std::unique_ptr<CpuGroup>> MakeBelow(int pid);
  // The same, where that is known.
  static absl::StatusOr<std::unique_ptr<CpuGroup>> MakeBelow(
      const scheduling::CpuGroupPlace& place);
  ~CpuGroup();
  CpuGroup(const CpuGroup&) = delete;
  CpuGroup& operator=(const CpuGroup&) = delete;

  const std::string& folder() const { return folder_; }
  const std::string& parent() const { return parent_; }

 private:
  explicit CpuGroup(const std::string& parent) : parent_(parent), folder_(parent + "/" + kName) {}

  absl::Status Prepare(bool unified);
  // Of version 2: has the child have the cpu controller.
  absl::Status HandDown();

  const std::string parent_;
  const std::string folder_;
  bool handed_down_ = false;  // by this one
};

}  // namespace headgate::agent
