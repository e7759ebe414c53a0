#include "server/decide/engine/policy.h"
#include "server/serve/web/metrics.h"

namespace headgate::web {

void AddAgents(absl::Span<const agents::AgentView> agents, const engine::Policy& policy,
               Exposition& out) {
  auto up = out.Gauge("headgate_agent_up",
                      "Whether an agent tells which sessions of a target yield the processor.");
  auto works = out.Gauge("headgate_yielding_works",
                         "Whether sessions of batch work can yield the processor, as an agent that "
                         "is there has tried.");
  auto sessions = out.Gauge("headgate_yielding_sessions", "Sessions that yield the processor.");
  auto raised =
      out.Gauge("headgate_raised_sessions",
                "Sessions of batch work that do not yield: others wait for what they hold, or they "
                "got next to no processor.");
  auto raises = out.Counter("headgate_session_raises_total",
                            "Sessions that ceased to yield for a while, since the agent began.");
  auto processor = out.Counter("headgate_yielding_processor_seconds_total",
                               "Processor time of batch sessions, since the agent began.");
  auto work = out.Counter("headgate_yielding_work_seconds_total",
                          "Time for which sessions were at work while they yielded, by what they "
                          "were at, since the agent began.");
  for (const agents::AgentView& agent : agents) {
    if (!policy.target_by_name.contains(agent.target)) continue;
    const auto set = [&](auto& family, auto number) {
      family.Set({{"target", agent.target}}, number);
    };
    const control::Yielding& yielding = agent.state.yielding;
    set(up, agent.is_here ? 1 : 0);
    set(works, agent.is_here && yielding.works ? 1 : 0);
    set(sessions, static_cast<double>(agent.is_here ? yielding.sessions : 0));
    set(raised, static_cast<double>(agent.is_here ? yielding.raised : 0));
    set(raises, static_cast<double>(yielding.raises));
    set(processor, yielding.processor_seconds);
    const auto at = [&](const char* what, double seconds) {
      work.Set({{"target", agent.target}, {"at", what}}, seconds);
    };
    at("processor", agent.state.work.processor);
    at("disk", agent.state.work.disk);
    at("locks", agent.state.work.locks);
    at("standbys", agent.state.work.standbys);
    at("other", agent.state.work.other);
  }
}

}  // namespace headgate::web
