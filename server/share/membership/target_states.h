// TargetStates: what becomes of a target when this server begins to own it, and when it ends.
//
// One thread calls these, in turn; never while anything is decided for the target.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/share/cluster/store.h"
#include "server/share/cluster/takeover.h"

namespace headgate::membership {

class TargetStates {
 public:
  virtual ~TargetStates() = default;

  // Before these are adopted, all that are taken together.
  virtual absl::Status Prepare(absl::Span<const cluster::Held> /*targets*/) {
    return absl::OkStatus();
  }
  // Goes on where the owner before left the target: `state` is what that one wrote, if anything.
  // After an error it is asked again.
  virtual absl::Status Adopt(std::string_view target, cluster::Takeover takeover,
                             const std::optional<cluster::StoredState>& state) = 0;
  // What the next owner of each has to know, in order. Empty: nothing is owed, nothing is out, and
  // nothing was learnt of how much the target bears.
  virtual std::vector<absl::StatusOr<std::string>> Copy(absl::Span<const std::string> targets) = 0;
  // What was measured of a target last, and how long ago, for its next owner; empty: nothing was.
  virtual std::string Health(const std::string& /*target*/) { return {}; }
  // Another server decides from now on: nothing of it is to be answered from here any more.
  virtual void Forget(std::string_view target) = 0;
};

}  // namespace headgate::membership
