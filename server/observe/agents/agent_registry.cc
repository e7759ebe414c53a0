#include "server/observe/agents/agent_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::agents {
namespace {

constexpr std::string_view kStreamEnded = "its stream has ended";
constexpr std::string_view kSilent = "it has said nothing for 1.5 s";

}  // namespace

int64_t AgentRegistry::LeaseEndNs(const Agent& agent) {
  return agent.view.told_ns + absl::ToInt64Nanoseconds(kLease);
}

AgentRegistry::Stream AgentRegistry::Open() {
  const MutexLock lock(&mutex_);
  return ++last_stream_;
}

absl::Status AgentRegistry::Tell(Stream stream, const About& about, const AgentState& state,
                                 Now now) {
  const MutexLock lock(&mutex_);
  for (const auto& [target, agent] : agents_) {
    if (agent.holder != stream || target == about.target) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("target: this stream is about '", target, "'; open another one"));
  }
  Agent& agent = agents_.try_emplace(std::string(about.target)).first->second;
  agent.view.target = about.target;
  if (agent.holder != stream && agent.holder != 0) {
    const bool is_same = !agent.id.empty() && agent.id == about.agent;
    if (is_same) {
      Take(agent, stream, about);
    } else if (now.monotonic_ns < LeaseEndNs(agent)) {
      return absl::AlreadyExistsError(absl::StrCat("an agent at ", agent.view.peer,
                                                   " tells of target '", Sv(about.target),
                                                   "' already, and one target has one agent"));
    } else {
      Drop(agent, kSilent, now);
    }
  }
  const bool comes = agent.holder == 0;
  const bool worked = agent.view.state.yielding.works;
  if (comes) {
    Take(agent, stream, about);
    agent.view.since_ns = now.monotonic_ns;
  }
  agent.view.state = state;
  agent.view.told_ns = now.monotonic_ns;
  if (comes) {
    TellEvent(AgentEvent::Kind::kCame, agent);
  } else if (worked != state.yielding.works) {
    TellEvent(state.yielding.works ? AgentEvent::Kind::kYields : AgentEvent::Kind::kYieldsNot,
              agent);
  }
  if (listeners_.on_yielding) listeners_.on_yielding(agent.view.target, state.yielding, now);
  return absl::OkStatus();
}

void AgentRegistry::Take(Agent& agent, Stream stream, const About& about) {
  agent.holder = stream;
  agent.id = about.agent;
  agent.view.is_here = true;
  agent.view.peer = about.peer;
}

void AgentRegistry::Drop(Agent& agent, std::string_view why, Now now) {
  agent.holder = 0;
  agent.view.is_here = false;
  TellEvent(AgentEvent::Kind::kGone, agent, why);
  if (listeners_.on_yielding) listeners_.on_yielding(agent.view.target, {}, now);
}

void AgentRegistry::End(Stream stream, Now now) {
  const MutexLock lock(&mutex_);
  for (auto& [target, agent] : agents_) {
    if (agent.holder == stream) Drop(agent, kStreamEnded, now);
  }
}

int64_t AgentRegistry::Expire(Now now) {
  const MutexLock lock(&mutex_);
  int64_t next_ns = kNever;
  for (auto& [target, agent] : agents_) {
    if (agent.holder == 0) continue;
    if (LeaseEndNs(agent) <= now.monotonic_ns) {
      Drop(agent, kSilent, now);
    } else {
      next_ns = std::min(next_ns, LeaseEndNs(agent));
    }
  }
  return next_ns;
}

std::vector<AgentView> AgentRegistry::Views(Now now) const {
  std::vector<AgentView> views;
  const MutexLock lock(&mutex_);
  for (const auto& [target, agent] : agents_) {
    AgentView& view = views.emplace_back(agent.view);
    view.is_here = agent.holder != 0 && now.monotonic_ns < LeaseEndNs(agent);
  }
  return views;
}

void AgentRegistry::TellEvent(AgentEvent::Kind kind, const Agent& agent, std::string_view why) {
  if (!listeners_.on_event) return;
  listeners_.on_event({.kind = kind,
                       .target = agent.view.target,
                       .peer = agent.view.peer,
                       .yielding = agent.view.state.yielding,
                       .why = why});
}

}  // namespace headgate::agents
