// Member: this server as one of several that share their targets.
//
// One thread follows the protocol (server/share/cluster), one asks the store for its rounds, and
// one moves states: it adopts targets that come, writes those that go, and copies those that stay
// to the store every `copy_every`, so that the next owner knows what is owed if this one dies. A
// state that takes long never delays a lease.
//
// A target that is to go is published as nobody's first; what was being decided for it ends; then
// its state is written as the last, and forgotten here. Until the next owner has it, who asks is
// held.
//
// Thread-safe, but for Start and Stop, which are called once each, in this order.
//
//   Member member({.protocol = {.name = "a", ...}}, store, states, clock);
//   member.SetTargets({"orders"});
//   member.Start();
//   ... member.OwnerOf("orders", clock.Read()) ...
//   member.Leave(absl::Seconds(10));
//   member.Stop();

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/share/cluster/owners.h"
#include "server/share/cluster/protocol.h"
#include "server/share/cluster/store.h"
#include "server/share/cluster/view.h"
#include "server/share/membership/event_count.h"
#include "server/share/membership/owner_table.h"
#include "server/share/membership/state_mover.h"
#include "server/share/membership/target_states.h"

namespace headgate::membership {

struct MemberOptions {
  cluster::ProtocolOptions protocol;
  // Between two copies of what is owed; a crash costs the next owner's callers that much of
  // caution.
  absl::Duration copy_every = absl::Milliseconds(750);
  // Told what each round came to, by the thread that asks for them. It must return soon.
  std::function<void(const absl::StatusOr<cluster::RoundReply>& reply)> on_round = {};
  // Lets another server know of a target's new owner. It must not block, and may be lost.
  std::function<void(const cluster::Tell& tell)> tell = {};
  // Asks another server, and calls `then` once, within its patience, from any thread;
  // false where there is no answer. It must not block.
  std::function<void(const cluster::AskToKeep& ask, std::function<void(bool agrees)> then)>
      ask_to_keep = {};
  // Measures a target from now on, or no longer; OnMeasured tells how that goes. It must not block.
  // Absent: nothing is measured, and all goes well.
  std::function<void(const cluster::Measure& measure)> measure = {};
};

class Member final : public cluster::Owners {
 public:
  // All outlive this.
  Member(MemberOptions options, cluster::Store& store, TargetStates& states, Clock& clock);
  ~Member() override { Stop(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Those of the configuration in force, with the hash of what matters for each.
  void SetTargets(const std::map<std::string, uint64_t>& targets) ABSL_LOCKS_EXCLUDED(mutex_);
  void Start();
  // Gives all targets away, each to another member that is here, and removes this one from the
  // store. DeadlineExceeded: not all of it within `longest`. Unavailable: the store has been away
  // for so long that there is no sense in waiting.
  absl::Status Leave(absl::Duration longest) ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // How measuring goes that was wanted; it may be said again and again.
  void OnMeasured(const std::string& target, cluster::Measures measures, const std::string& why)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // What another member says (MemberOptions::tell).
  void OnTold(uint64_t owner_incarnation, const cluster::Held& held) ABSL_LOCKS_EXCLUDED(mutex_);

  // OK: this server lets the asker decide on while the store is away.
  absl::Status Agree(const cluster::KeepQuestion& question) ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the store has answered at all: before, nothing is known of the others.
  bool HasJoined() const ABSL_LOCKS_EXCLUDED(mutex_);
  // As of now, for people.
  cluster::ClusterView View() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Of all other members that are here.
  std::vector<std::string> Addresses() const ABSL_LOCKS_EXCLUDED(mutex_);

  cluster::Owner OwnerOf(std::string_view target, const Now& now) const override {
    return table_.Find(target, now);
  }
  bool AllAreSettled(const Now& now) const override;
  int ServersWithoutStore() const override {
    // relaxed: a number that orders nothing.
    return servers_without_store_.load(std::memory_order_relaxed);
  }
  cluster::Decisions& decisions() override { return decisions_; }
  void Listen(cluster::OwnersListener* listener) override ABSL_LOCKS_EXCLUDED(listeners_mutex_);
  void Leave(cluster::OwnersListener* listener) override ABSL_LOCKS_EXCLUDED(listeners_mutex_);

 private:
  void Follow() ABSL_LOCKS_EXCLUDED(mutex_);
  void AskForRounds() ABSL_LOCKS_EXCLUDED(mutex_);
  void MoveStates() ABSL_LOCKS_EXCLUDED(mutex_);
  // Does what is next. False: there is nothing.
  bool AskForOneRound() ABSL_LOCKS_EXCLUDED(mutex_);
  bool MoveStatesOnce() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether states can be kept, by what became of them, or by trying where that is not known.
  void TryStates() ABSL_LOCKS_EXCLUDED(mutex_);
  // Those of this kind that are next, in order.
  template <typename Move>
  std::vector<cluster::Held> NextMoves() ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsStopping() const ABSL_LOCKS_EXCLUDED(mutex_);

  // To whoever does it. Without the mutex: `tell` is somebody else's.
  void Dispatch(std::vector<cluster::Action> actions) ABSL_LOCKS_EXCLUDED(mutex_);
  void AskToKeep(const cluster::AskToKeep& ask) ABSL_LOCKS_EXCLUDED(mutex_);
  void TellListeners() ABSL_LOCKS_EXCLUDED(listeners_mutex_);
  // Those that this server serves, with their generations.
  std::vector<cluster::Held> Served() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t NowNs() const { return clock_.Read().monotonic_ns; }

  const MemberOptions options_;
  cluster::Store& store_;
  Clock& clock_;
  cluster::Decisions decisions_;
  // Of the thread that moves states, likewise when they are to be tried.
  StateMover mover_;
  int64_t tried_at_ns_ = INT64_MIN;
  int64_t try_at_ns_ = INT64_MIN;
  OwnerTable table_;
  std::atomic<int> servers_without_store_{0};

  EventCount changed_;  // any of what the mutex guards
  mutable Mutex mutex_;
  cluster::Protocol protocol_ ABSL_GUARDED_BY(mutex_);
  std::optional<cluster::RoundRequest> round_ ABSL_GUARDED_BY(mutex_);  // to be asked
  // Take, Save, PassOn and Drop
  std::deque<cluster::Action> moves_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex listeners_mutex_;
  std::set<cluster::OwnersListener*> listeners_ ABSL_GUARDED_BY(listeners_mutex_);

  std::vector<std::thread> threads_;
};

}  // namespace headgate::membership
