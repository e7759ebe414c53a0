#include "client/cli/process/idle_child.h"

#include <fcntl.h>
#include <headgate/time_source.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "client/scheduling/lower.h"
#include "client/scheduling/scheduling_group.h"
#include "common/file_descriptor.h"

namespace headgate::cli {
namespace {

using scheduling::Lowered;
using scheduling::SchedulingGroup;
using Autogroup = scheduling::Lowered::Autogroup;

constexpr int kLowestNice = 19;

bool HasTerminal() { return FileDescriptor(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)).ok(); }

// What has to be done of the autogroup, and to whose.
enum class Plan : uint8_t { kNothing, kLowerOwn, kLowerChilds, kLeave };

Plan PlanFor(const SchedulingGroup& group) {
  if (group.kind != SchedulingGroup::Kind::kAutogroup || group.autogroup_nice >= kLowestNice) {
    return Plan::kNothing;
  }
  if (getsid(0) == getpid()) return Plan::kLowerOwn;
  return HasTerminal() ? Plan::kLeave : Plan::kLowerChilds;
}

void LowerAutogroupOf(pid_t pid, Lowered& lowered) {
  const auto wait = [](absl::Duration duration) { client::NewRealTime()->Wait(duration, {}); };
  lowered.refusal = scheduling::LowerAutogroup(pid, wait);
  // A child that has ended was in nobody's way.
  const bool is_done = lowered.refusal.ok() || absl::IsNotFound(lowered.refusal);
  lowered.autogroup = is_done ? Autogroup::kLowered : Autogroup::kRefused;
}

std::string Sentence(const absl::StatusOr<scheduling::Rank>& rank, Lowered& lowered) {
  if (!rank.ok()) {
    return absl::StrCat("the command runs at no lower priority: ", rank.status().message());
  }
  lowered.rank = *rank;
  return absl::StrCat("the command runs at idle priority: ", scheduling::Describe(lowered));
}

}  // namespace

absl::StatusOr<IdleChild> StartIdle(absl::FunctionRef<absl::StatusOr<pid_t>(Session)> spawn) {
  Lowered lowered{.group = scheduling::OwnSchedulingGroup()};
  const Plan plan = PlanFor(lowered.group);
  if (plan == Plan::kLowerOwn) LowerAutogroupOf(getpid(), lowered);
  if (plan == Plan::kLeave) lowered.autogroup = Autogroup::kShared;
  if (plan == Plan::kNothing && lowered.group.kind == SchedulingGroup::Kind::kAutogroup) {
    lowered.autogroup = Autogroup::kLowered;
  }
  absl::StatusOr<scheduling::Rank> rank;
  absl::StatusOr<pid_t> child;
  std::thread([&] {
    rank = scheduling::LowerThread();
    child = spawn(plan == Plan::kLowerChilds ? Session::kOwn : Session::kInherited);
  }).join();
  if (!child.ok()) return child.status();
  if (plan == Plan::kLowerChilds) LowerAutogroupOf(*child, lowered);
  return IdleChild{.pid = *child, .said = Sentence(rank, lowered)};
}

}  // namespace headgate::cli
