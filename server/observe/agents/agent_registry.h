// AgentRegistry: which targets have an agent, and what each said last.
//
// What an agent says is believed for kLease: where it says nothing more, or its stream ends,
// nothing of it is believed any more. One agent tells of a target at a time: another one is refused
// until the first one's lease has ended, so that two on different machines, of which one acts on
// the wrong PostgreSQL, are seen.
//
// Listeners are called by whoever calls this, one call at a time, in the order in which things
// happened. They must be quick, and must not call the registry back.
//
// Thread-safe. Time is given; somebody calls Expire when it says so.
//
//   AgentRegistry registry({.on_yielding = [](const std::string& target, const auto& yielding,
//                                             Now now) { ... }});
//   const AgentRegistry::Stream stream = registry.Open();
//   absl::Status status = registry.Tell(stream, {.target = "orders", .peer = peer}, state, now);
//   registry.End(stream, now);

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/observe/agents/agent_state.h"
#include "server/observe/control/yielding.h"

namespace headgate::agents {

// Something that an operator may want to know.
struct AgentEvent {
  enum class Kind : uint8_t {
    kCame,
    kGone,
    kYields,     // of an agent that is here: it works now
    kYieldsNot,  // it does not any more
  };
  Kind kind = Kind::kCame;
  const std::string& target;
  const std::string& peer;
  const control::Yielding& yielding;  // as it is now; of one that is gone, what it said last
  std::string_view why = {};          // kGone: a sentence
};

class AgentRegistry {
 public:
  static constexpr absl::Duration kLease = absl::Milliseconds(1500);
  static constexpr int64_t kNever = INT64_MAX;

  using Stream = uint64_t;
  // Whenever something was said of a target. The default one: nothing yields there any more.
  using OnYielding =
      std::function<void(const std::string& target, const control::Yielding&, Now now)>;
  using OnEvent = std::function<void(const AgentEvent&)>;
  struct Listeners {
    OnYielding on_yielding;  // null: nobody is told
    OnEvent on_event;        // likewise
  };
  struct About {
    std::string_view target;  // its name in the configuration
    std::string_view peer;
    std::string_view agent = {};  // which one it is; empty: each stream is one
  };

  explicit AgentRegistry(Listeners listeners = {}) : listeners_(std::move(listeners)) {}
  AgentRegistry(const AgentRegistry&) = delete;
  AgentRegistry& operator=(const AgentRegistry&) = delete;

  Stream Open() ABSL_LOCKS_EXCLUDED(mutex_);
  // Another stream of the same agent takes the place of its first one. AlreadyExists: another one
  // tells of the target. InvalidArgument: this one tells of another target.
  absl::Status Tell(Stream stream, const About& about, const AgentState& state, Now now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing that it said is believed any more. Harmless for one that has said nothing.
  void End(Stream stream, Now now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of those whose leases have ended, likewise. When to ask again, monotonic; kNever: when an agent
  // has come.
  int64_t Expire(Now now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Of each target that an agent has ever told of, by name.
  std::vector<AgentView> Views(Now now) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Agent {
    Stream holder = 0;  // 0: none
    std::string id;     // of the holder; empty: it has none
    AgentView view;     // whose is_here is whether there is a holder
  };

  static int64_t LeaseEndNs(const Agent& agent);
  void Take(Agent& agent, Stream stream, const About& about) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Agent& agent, std::string_view why, Now now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellEvent(AgentEvent::Kind kind, const Agent& agent, std::string_view why = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Listeners listeners_;
  mutable Mutex mutex_;
  Stream last_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Agent, std::less<>> agents_ ABSL_GUARDED_BY(mutex_);  // by target
};

}  // namespace headgate::agents
