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
// - Memory is bounded by the options: below 450 bytes for a Check with a short identity.
// - A look at a head that changes nothing sets a later instant: no work is done twice at one time.
//
// Thread-safe, and Advance is for one thread at a time. Its one mutex is a leaf: neither the engine
// nor a Waiter is called with it held, and the engine may call the gate while it holds locks of its
// own. So may the wake function be called, which must not call back. Reads no clock.
//
//   WaitingLines lines({}, [&](const auto& request, Now now, auto& answer) {
//     return engine.Check(request, now, answer);
//   });
//   engine.AttachLine(&lines);
//   if (lines.Enter(request, denial, now, wait, &ticket) == Entered::kWaits) return;
//   ... one thread: next_ns = lines.Advance(clock.Read()), then sleeps until next_ns or a wake ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/engine/answer.h"
#include "server/engine/line_gate.h"
#include "server/line/line.h"
#include "server/line/line_view.h"

namespace headgate::line {

// What became of a Check that would wait.
enum class Entered : uint8_t {
  kWaits,
  kFull,        // as many wait as may, but for callers of whom few do
  kCallerFull,  // as many of this caller wait as may
  kNotCurable,  // time does not cure what refuses it
  kClosed,
};

struct LineOptions {
  size_t max_waiting = 65536;  // Checks; 0: nobody waits
  // Of one caller; of one root identity where nobody is named. The last eighth, or half of what one
  // leaves to others if that is less, is for those who have less than an eighth of it: so a third
  // one finds room where two take all they may.
  double max_waiting_share = 0.5;
  double priority_floor = 0.05;  // see FairQueue
};

class WaitingLines final : public engine::LineGate {
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

  // After the engine refused `request` with `denial`: copies the request, and keeps the waiter, if
  // it waits.
  Entered Enter(const engine::CheckRequest& request, const engine::CheckAnswer& denial, Now now,
                Wait wait, uint64_t* ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Says in the denial why it does not wait, where that is for want of room.
  void TellWhyNot(Entered entered, engine::CheckAnswer& denial) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Likewise of a Check that came no further than to whoever would keep its call: `most` are kept.
  void TurnAway(size_t most, engine::CheckAnswer& denial) ABSL_LOCKS_EXCLUDED(mutex_);
  // Its caller is gone. True: its waiter is let go of, unanswered. False: it has been answered, or
  // will be in a moment.
  bool Leave(uint64_t ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers those whose turn or time has come: some of them. Returns when to call again, in
  // monotonic nanoseconds: `now` where there is more to do.
  int64_t Advance(Now now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Rights have changed: asks each Waiter whether it may wait still, in Advance. Who may not is
  // answered with PermissionDenied.
  void AskAgain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers all who wait with `status`, which is an error; nobody waits after that.
  void Close(const absl::Status& status, Now now) ABSL_LOCKS_EXCLUDED(mutex_);

  LineStats ReadStats(Now now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Each with those who are next among its earliest arrivals.
  LinesView ReadLines(const LineQuery& query, Now now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Where a Check would stand if it came now and waited. Nobody's place is changed.
  PlaceView ReadPlace(const Newcomer& newcomer, Now now) ABSL_LOCKS_EXCLUDED(mutex_);

  engine::LineStanding Arrive(const engine::LineArrival& arrival) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Admitted(uint64_t key, const engine::LineFlow& flow, uint64_t subject_key, int64_t cost_ns,
                uint64_t ticket) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Settled(uint64_t key, uint64_t leaf_key, int64_t delta_ns) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RoomFreed(uint64_t key) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Changed() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Due = std::pair<int64_t, uint64_t>;  // an instant, and a ticket or a line's key

  // What Advance does next. With a Check: it is examined, or its waiter is asked.
  enum class Work : uint8_t { kNone, kDone, kExamine, kAskWaiter };
  // A Check that has left the lines, to be answered without the mutex.
  struct Departure {
    std::unique_ptr<Waiting> waiting;  // null: it stays
    absl::Status status;
  };

  // --- waiting_lines.cc: who is in the lines, and the agenda.
  // kWaits: there is room for another of this caller.
  Entered RoomFor(uint64_t caller) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Line* FindLine(uint64_t key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Line& LineOf(const engine::Violation& violation, const engine::CheckAnswer& answer,
               const engine::CheckRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Into the line of what refuses it.
  Line& Join(Waiting& waiting, const engine::Violation& binding, const engine::CheckAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of one in this line.
  static engine::LineFlow FlowOf(const Line& line, const Waiting& waiting);
  // Out of its line.
  void Part(Waiting& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReleaseTurn(Waiting& waiting, Line& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReleaseTurns(Waiting& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountEnd(const Waiting& waiting, WaitEnd end, int64_t now_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<Waiting> Remove(Waiting& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetDue(Line& line, int64_t due_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After a change of its queue: a new head is looked at at once.
  void Touch(Line& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(Line& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t NextInstant() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the wake function has to be called, after the mutex is released.
  bool TakeWake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeIf(bool wake) const ABSL_LOCKS_EXCLUDED(wake_mutex_);

  // --- waiting_lines_advance.cc
  bool Step(const Now& now) ABSL_LOCKS_EXCLUDED(mutex_);
  Work TakeWork(const Now& now, Waiting*& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Work LookAtLine(Line& line, const Now& now, Waiting*& waiting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One that another policy prices otherwise.
  Work PriceNext(Waiting*& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The queue is empty: who stood beside it goes back, or the line is forgotten in time.
  void LookAtEmptyLine(Line& line, const Now& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeUp(Waiting& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Departure Conclude(Waiting& waiting, const absl::Status& status,
                     const engine::CheckAnswer& answer, const Now& now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of one of a bucket's line that was refused there again: what it costs now.
  void PriceAt(Line& line, Waiting& waiting, double cost, const engine::CheckAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Each Check of the line is priced anew. If the budget may be in another unit, what is known of
  // costs is taken for `by` times as much until then, shares begin anew, and nothing is held.
  void Reprice(Line& line, double by) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Refused again: it stays, or moves.
  void KeepWaiting(Waiting& waiting, Line& line, bool had_turn, const engine::Violation& binding,
                   const engine::CheckAnswer& answer, const Now& now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Departure Depart(Waiting& waiting, absl::Status status, WaitEnd end, int64_t now_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- waiting_lines_places.cc: turns and pollers' places.
  void Hold(Line& line, Waiting& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TurnOfPlace(Line& line, Place& place, int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Place* FindPlace(uint64_t key, uint64_t subject) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Unqueue(Line& line, Place& place);
  void DropPlace(Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For a Check of this line's head that was refused for want of room: when those who are not there
  // have to let go of what is held for them, which they do if that is now. kNever: it needs no more
  // than that others drain.
  static int64_t MakeRoom(Line& line, double cost_ns, int64_t now_ns);
  // Lets the place end then, and not before.
  void SetPlaceEnd(Place& place, int64_t ends_at_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  engine::LineStanding ArriveInTurn(Line& line, const engine::LineArrival& arrival)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  engine::LineStanding ArrivePolling(Line& line, const engine::LineArrival& arrival)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Enqueue(Line& line, Place& place);
  Place* KeepPlace(Line& line, const engine::LineArrival& arrival)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When its turn is expected, if all come back who are before it; kNever: nobody knows.
  int64_t TurnAt(const Line& line, uint64_t id, double cost_ns, int64_t now_ns) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Likewise of somebody who waits, if none of those does who may keep it waiting.
  int64_t ExpectedAt(const Line& line, uint64_t id, double cost_ns, int64_t now_ns) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- waiting_lines_view.cc
  LineView View(const Line& line, size_t most_waiting, int64_t now_ns,
                std::vector<const Waiting*> its) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LineOptions options_;
  const size_t max_of_caller_;
  // The last places are for callers of whom few wait.
  const size_t kept_for_few_;
  const size_t max_places_;
  const Examine examine_;
  mutable Mutex wake_mutex_;  // a leaf as well
  std::function<void()> wake_ ABSL_GUARDED_BY(wake_mutex_);
  engine::CheckAnswer answer_;  // of the thread that is in Advance

  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Line>> by_key_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, std::unique_ptr<Waiting>> tickets_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, size_t> callers_ ABSL_GUARDED_BY(mutex_);
  // By id, and which one a subject has at a line.
  absl::flat_hash_map<uint64_t, std::unique_ptr<Place>> places_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, uint64_t> place_by_subject_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<Due> agenda_ ABSL_GUARDED_BY(mutex_);  // of lines
  absl::btree_set<Due> deadlines_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<Due> place_ends_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> changed_lines_ ABSL_GUARDED_BY(mutex_);  // to be marked due
  std::vector<uint64_t> to_ask_ ABSL_GUARDED_BY(mutex_);         // tickets whose waiter is asked
  std::vector<uint64_t> to_price_ ABSL_GUARDED_BY(mutex_);       // tickets of those to be priced
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t told_ns_ ABSL_GUARDED_BY(mutex_) = kNever;  // what Advance said last
  int64_t now_ns_ ABSL_GUARDED_BY(mutex_) = 0;        // as it was told last
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  LineStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::line
