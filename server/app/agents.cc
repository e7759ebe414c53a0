#include "server/app/agents.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "server/app/server_log.h"

namespace headgate::app {
namespace {

// A span that is longer may not fit into a timer.
constexpr int64_t kLongestSleepNs = int64_t{60} * 1'000'000'000;

}  // namespace

Agents::Agents(Clock& clock, agents::AgentRegistry::OnYielding on_yielding)
    : clock_(clock),
      registry_({.on_yielding = std::move(on_yielding),
                 .on_event = [this](const agents::AgentEvent& event) { OnEvent(event); }}) {
  thread_ = std::thread([this] { Run(); });
}

void Agents::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Agents::OnEvent(const agents::AgentEvent& event) {
  using Kind = agents::AgentEvent::Kind;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;  // that a server which stops has no agents any more is no news
  }
  const std::string& means = event.yielding.means;
  const bool works = event.yielding.works;
  switch (event.kind) {
    case Kind::kCame: {
      LogInfo("an agent has come", {{"target", event.target},
                                    {"agent", event.peer},
                                    {"yields", works ? "yes" : "no"},
                                    {works ? "by" : "why", means}});
      const std::lock_guard<std::mutex> lock(mutex_);
      woken_ = true;
      changed_.notify_one();
      break;
    }
    case Kind::kGone:
      LogWarning("the agent has gone",
                 {{"target", event.target}, {"agent", event.peer}, {"why", event.why}});
      break;
    case Kind::kYields:
      LogInfo("batch work yields the processor", {{"target", event.target}, {"by", means}});
      break;
    case Kind::kYieldsNot:
      LogWarning("batch work does not yield the processor",
                 {{"target", event.target}, {"why", means}});
      break;
  }
}

void Agents::Run() {
  for (;;) {
    const int64_t next_ns = registry_.Expire(clock_.Read());
    const int64_t now_ns = clock_.Read().monotonic_ns;
    const int64_t sleep_ns = next_ns == agents::AgentRegistry::kNever
                                 ? kLongestSleepNs
                                 : std::clamp<int64_t>(next_ns - now_ns, 0, kLongestSleepNs);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(sleep_ns),
                      [this] { return woken_ || stopping_; });
    if (stopping_) return;
    woken_ = false;
  }
}

}  // namespace headgate::app
