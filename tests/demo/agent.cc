#include "tests/demo/agent.h"

#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "tests/testing/wait_until.h"

namespace headgate::demo {
namespace {

// It tries each of three means for 4.5 s at most, and where the machine was too busy all of them
// again ten seconds later.
constexpr absl::Duration kProofPatience = absl::Seconds(45);

// What it says where it could not tell yet: it tries again soon.
bool IsUndecided(const AgentView& view) { return absl::StrContains(view.means, "too busy"); }

std::vector<std::string> Command(Stage& stage, const Headgated& headgated) {
  return {HEADGATE_PROGRAM, "agent",
          "--dsn",          stage.agent_dsn(),
          "--state-dir",    stage.folder() + "/agent",
          "--address",      headgated.address(),
          "--target",       Headgated::kTarget};
}

}  // namespace

Agent::Agent(Stage& stage, const Headgated& headgated) : process_(Command(stage, headgated)) {}

Agent::~Agent() { Stop().IgnoreError(); }

absl::StatusOr<Agent::Started> Agent::Start(Stage& stage, Headgated& headgated, const Wait& wait) {
  std::unique_ptr<Agent> agent(new Agent(stage, headgated));
  const int64_t end_ns = MonotonicNs() + absl::ToInt64Nanoseconds(kProofPatience);
  while (MonotonicNs() < end_ns && agent->Health().ok()) {
    if (absl::Status status = wait(); !status.ok()) return status;
    const absl::StatusOr<ServerView> view = headgated.View();
    if (absl::IsDeadlineExceeded(view.status())) continue;  // there is a next time
    if (!view.ok()) return view.status();
    if (!view->agent.has_value()) continue;
    if (view->agent->yields) return Started{.agent = std::move(agent), .means = view->agent->means};
    if (!IsUndecided(*view->agent)) return Started{.why_not = view->agent->means};
  }
  return Started{.why_not = agent->LastWords()};
}

absl::Status Agent::Health() {
  if (!process_.HasEnded()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the agent has ended: ", LastWords()));
}

std::string Agent::LastWords() {
  const std::vector<std::string> lines =
      absl::StrSplit(absl::StrCat(process_.Out(), process_.Err()), '\n', absl::SkipEmpty());
  return lines.empty() ? "it said nothing" : lines.back();
}

}  // namespace headgate::demo
