// The lines: Checks that were refused by something that time cures wait here for their fair turn.
//
// There is a line at each limit that refuses: at a bucket, a gate, a pause. A Check has one place,
// at the limit that refuses it longest. Who is next is for FairQueue to say. When the line's head
// may have room it is examined as a whole, by the engine, which admits it everywhere or nowhere. If
// something else refuses it, it moves to the line there, with its arrival for its order, and room
// is held for it where it had its turn: so it holds up nobody, and nobody takes from it what it had
// come by. What is held at a bucket is at most half of its burst, and costs no rate.
//
// Guarantees:
// - Whoever waits owes nothing. Each is answered once: when it is admitted, when its time is up,
//   when what refuses it is not cured by time any more, or when the lines are closed. With no
//   caller left it is not answered at all.
// - Nobody is admitted by these lines: the engine does that, in the order that they ask it. A Check
//   of those who do not wait is told that others are before it.
// - A poller's place: who was told when its turn is expected, and comes back by then or a quarter
//   of that time later, finds its turn, with room held for it as long as the line has patience.
// - All who do not come back, together, leave a budget idle while others wait for half a second and
//   a twentieth of the time at most, however many they are and whatever they asked for.
// - A line remembers shares for 10 s after its last Check.
// - Memory is bounded by the options: below 500 bytes for a Check with a short identity.
// - A look at a head that changes nothing sets a later instant: no work is done twice at one time.
//
// Those who hold leases, and wait for an order that takes them back, are no part of any line: they
// are with LeaseWatches, which this class tells of what it is told.
//
// This class is the door: it locks, wakes and answers. What it guards is in parts, each for one
// question; line_state.h lists them.
//
// Thread-safe, and Advance is for one thread at a time. Its one mutex is a leaf: neither the engine
// nor a Waiter is called with it held, and the engine may call the line while it holds locks of its
// own. So may the wake function be called, which must not call back. Reads no clock.
//
//   WaitingLines lines({}, [&](const auto& request, Now now, auto& answer) {
//     return engine.Check(request, now, answer);
//   });
//   engine.AttachLine(&lines);
//   if (lines.Enter({request, denial, now}, wait, &ticket) == Entered::kWaits) return;
//   ... one thread: next_ns = lines.Advance(clock.Read()), then sleeps until next_ns or a wake ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/held_bytes.h"
#include "common/mutex.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/line/lease_watches.h"
#include "server/decide/line/line_options.h"
#include "server/decide/line/line_state.h"
#include "server/decide/line/line_view.h"
#include "server/decide/line/wait_accounts.h"
#include "server/decide/line/waiter.h"

namespace headgate::line {

class WaitingLines final : public engine::LineInterface {
 public:
  // Engine::Check, for instance.
  using Examine = std::function<absl::Status(const engine::CheckRequest& request, Now now,
                                             engine::CheckAnswer& answer)>;

  WaitingLines(const LineOptions& options, Examine examine);
  ~WaitingLines() override;
  WaitingLines(const WaitingLines&) = delete;
  WaitingLines& operator=(const WaitingLines&) = delete;

  // Called, without the mutex, when something is due earlier than Advance said. Nothing: nobody is
  // woken, and from the return on nobody is in the one before.
  void SetWake(std::function<void()> wake) ABSL_LOCKS_EXCLUDED(wake_mutex_) {
    const MutexLock lock(&wake_mutex_);
    wake_ = std::move(wake);
  }

  // A Check that the engine refused.
  struct Refused {
    const engine::CheckRequest& request;
    const engine::CheckAnswer& denial;
    Now now;
  };
  // Copies the request, and keeps the waiter, if it waits. One that watches
  // (engine::CheckRequest::IsWatch) is refused by nothing, and enters no line.
  Entered Enter(const Refused& refused, Wait wait, uint64_t* ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Says in the denial why it does not wait, where that is for want of room.
  void ExplainRefusal(Entered entered, engine::CheckAnswer& denial) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Likewise of a Check that does not come to a line, because `most` calls are parked already,
  // which is as many as may be.
  void RefuseUnparked(size_t most, engine::CheckAnswer& denial) ABSL_LOCKS_EXCLUDED(mutex_);
  // Its caller is gone, as of now. True: its waiter is let go of, unanswered. False: it has been
  // answered, or will be in a moment.
  bool Leave(uint64_t ticket, Now now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers those whose turn or time has come: some of them. Returns when to call again, in
  // monotonic nanoseconds: `now` where there is more to do.
  int64_t Advance(Now now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Rights have changed: asks each Waiter whether it may wait still, in Advance. Who may not is
  // answered with PermissionDenied.
  void AskAgain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers all who wait with `status`, which is an error; nobody waits after that.
  void Close(const absl::Status& status, Now now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether anybody waits who asked for this target, the only one where a Check names none.
  bool AnybodyWaitsFor(std::string_view target) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Of memory, for all who wait.
  int64_t held_bytes() const { return held_.bytes() + lease_watches_.held_bytes(); }
  LineStats ReadStats(Now now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Each with those who are next among its earliest arrivals.
  LinesView ReadLines(const LineQuery& query, Now now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Where a Check would stand if it came now and waited; where its subject stands, if it polls and
  // has a place. Nobody's is changed.
  PlaceView ReadPlace(const Newcomer& newcomer, Now now) ABSL_LOCKS_EXCLUDED(mutex_);

  // What was waited since the call before, also by those who wait on; a subject may come several
  // times. The mutex is held for some of them at a time. For one thread at a time.
  void CollectWaits(Now now, absl::FunctionRef<void(const CountedWaits&)> take)
      ABSL_LOCKS_EXCLUDED(mutex_);

  engine::PlaceInLine Arrive(const engine::LineArrival& arrival) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Admitted(const engine::LineAdmission& admission) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Settled(uint64_t key, uint64_t leaf_key, int64_t delta_ns) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RoomFreed(uint64_t key) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Changed() override ABSL_LOCKS_EXCLUDED(mutex_);
  void PolicyChanged() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Where each who waits may wait for something else than before, all are examined, and not the
  // first of each line alone.
  void Change(bool examines_all) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does what is due next. False: there is nothing.
  bool Step(const Now& now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers one that has left the lines; `answer_` has what the engine said of it.
  void Answer(const Departure& departure, const Now& now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the wake function has to be called, after the mutex is released.
  bool TakeWake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeIf(bool wake) const ABSL_LOCKS_EXCLUDED(wake_mutex_);
  Entered EnterWatch(const engine::CheckRequest& request, Wait wait, uint64_t* ticket);

  const LineOptions options_;
  const Examine examine_;
  mutable Mutex wake_mutex_;  // a leaf as well
  std::function<void()> wake_ ABSL_GUARDED_BY(wake_mutex_);
  engine::CheckAnswer answer_;  // of the thread that is in Advance

  HeldBytes held_;
  LeaseWatches lease_watches_;

  mutable Mutex mutex_;
  LineState state_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t told_ns_ ABSL_GUARDED_BY(mutex_) = kNever;  // what Advance said last
};

}  // namespace headgate::line
