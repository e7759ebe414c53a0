// Agents: what agents beside PostgreSQL tell, for the rest of the server, and what the log says of
// it; and the thread that no longer believes one that is silent.
//
// Thread-safe, but for Stop, which belongs to one thread.
//
//   Agents agents(clock, [&](const std::string& target, const control::Yielding& yielding,
//                            Now now) { targets.OnYielding(target, yielding, now); });
//   rpc::AgentService service({.registry = agents.registry(), ...});

#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "server/observe/agents/agent_registry.h"

namespace headgate::app {

class Agents {
 public:
  // The clock outlives this. `on_yielding` as AgentRegistry has it; null: nobody is told.
  explicit Agents(Clock& clock, agents::AgentRegistry::OnYielding on_yielding = nullptr);
  ~Agents() { Stop(); }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  agents::AgentRegistry& registry() { return registry_; }
  std::vector<agents::AgentView> Views() const { return registry_.Views(clock_.Read()); }
  // No lease ends by itself any more, and nothing is logged. May be called again.
  void Stop();

 private:
  void OnEvent(const agents::AgentEvent& event);
  void Run();

  Clock& clock_;
  agents::AgentRegistry registry_;
  std::mutex mutex_;  // for waiting alone
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headgate::app
