// StateMover: moves states of targets between this server and the store.
//
// A state is written as a whole, with a number that counts up, on condition that this server's
// generation is still the target's (fencing, as Temporal's range id and Kubernetes' resource
// version): a server that has lost a target writes nothing about it any more. The last state of a
// target is kept until the store has it, and nothing is taken out of the engine twice.
//
// Belongs to one thread. Calls block.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/share/cluster/decision_scope.h"
#include "server/share/cluster/store.h"
#include "server/share/membership/event_count.h"
#include "server/share/membership/target_states.h"

namespace headgate::membership {

class StateMover {
 public:
  // All outlive the mover.
  struct Options {
    cluster::Store& store;
    TargetStates& states;
    cluster::Decisions& decisions;
    Clock& clock;
    absl::Duration timeout;  // of one call of the store
  };

  explicit StateMover(const Options& options)
      : store_(options.store),
        states_(options.states),
        decisions_(options.decisions),
        clock_(options.clock),
        timeout_(options.timeout) {}

  // They are this server's, and nobody is decided for yet; reads their states, in one statement
  // where that is quick enough. What became of each.
  std::vector<absl::Status> Take(absl::Span<const cluster::Held> targets);
  // They are published as nobody's; ends what is being decided, and writes the last states, in one
  // statement. What became of each.
  std::vector<absl::Status> Save(const std::vector<cluster::Held>& targets);
  // They are this server's, which decided nothing for them and cannot: writes what the owner before
  // wrote as this generation's, as the last where it was. What became of each.
  std::vector<absl::Status> PassOn(const std::vector<cluster::Held>& targets);
  // It is somebody else's.
  void Drop(const cluster::Held& held);
  // Of those that are served: what has changed, in one statement.
  void Copy(const std::vector<cluster::Held>& served);

  // What the newest statement came to that wrote, or failed, since this was asked last: whether
  // states can be kept. Nothing: there was none.
  std::optional<absl::Status> TakeEvidence() { return std::exchange(evidence_, std::nullopt); }

 private:
  static constexpr size_t kReadAtOnce = 1024;

  struct Written {
    uint64_t generation = 0;
    uint64_t sequence = 0;                  // of the newest write that was tried
    std::optional<std::string> bytes = {};  // that the store has for certain
    std::optional<std::string> last = {};   // once it was taken out of the engine
    int64_t last_at_ns = 0;
    std::string last_health = {};
  };

  Written& WrittenOf(const cluster::Held& held);
  // The last states, out of the engine: each once.
  std::vector<absl::Status> TakeOut(const std::vector<cluster::Held>& targets);
  // Decisions for a target that is published as nobody's have ended.
  void Drain();
  std::vector<absl::Status> Write(absl::Span<const cluster::StateWrite> writes);
  std::vector<cluster::ReadState> Read(absl::Span<const cluster::Held> targets);
  absl::Status Adopt(const cluster::Held& held, cluster::ReadState state);

  cluster::Store& store_;
  TargetStates& states_;
  cluster::Decisions& decisions_;
  Clock& clock_;
  const absl::Duration timeout_;
  size_t read_at_once_ = kReadAtOnce;  // halved after a read that took too long
  std::optional<absl::Status> evidence_;
  EventCount never_notified_;               // for pauses
  std::map<std::string, Written> written_;  // by target
};

}  // namespace headgate::membership
