#include <headgate/priority.h>
#include <headgate/time_source.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "client/scheduling/lower.h"
#include "client/scheduling/scheduling_group.h"

namespace headgate::client {
namespace {

constexpr int kLowestNice = 19;

// Leaves a session alone that is not this process's own.
void LowerOwnAutogroup(scheduling::Lowered& lowered) {
  using Autogroup = scheduling::Lowered::Autogroup;
  if (lowered.group.kind != scheduling::SchedulingGroup::Kind::kAutogroup) return;
  if (lowered.group.autogroup_nice >= kLowestNice) {
    lowered.autogroup = Autogroup::kLowered;
    return;
  }
  if (getsid(0) != getpid()) {
    lowered.autogroup = Autogroup::kShared;
    return;
  }
  const auto wait = [](absl::Duration duration) { NewRealTime()->Wait(duration, {}); };
  lowered.refusal = scheduling::LowerAutogroup(getpid(), wait);
  lowered.autogroup = lowered.refusal.ok() ? Autogroup::kLowered : Autogroup::kRefused;
}

}  // namespace

absl::StatusOr<std::string> LowerPriority() {
  const absl::StatusOr<scheduling::Rank> rank = scheduling::LowerProcess();
  if (!rank.ok()) return rank.status();
  scheduling::Lowered lowered{.rank = *rank, .group = scheduling::OwnSchedulingGroup()};
  LowerOwnAutogroup(lowered);
  std::string how = scheduling::Describe(lowered);
  if (!lowered.Counts()) return absl::FailedPreconditionError(how);
  return how;
}

}  // namespace headgate::client
