// One line, and who is in it: what WaitingLines keeps under its mutex.
//
// Plain data with few rules of its own; guarded by its owner.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/engine/answer.h"
#include "server/engine/line_gate.h"
#include "server/line/fair_queue.h"
#include "server/line/kept_flow.h"
#include "server/line/kept_request.h"
#include "server/line/patience.h"

namespace headgate::line {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// Due at once, whatever the time is.
inline constexpr int64_t kAtOnce = 0;

// Where a Check had its turn, and how much of that bucket's burst is kept for it since: none where
// half of the burst is kept already.
struct Turn {
  uint64_t key = 0;  // of the line
  int64_t held_ns = 0;
};

// Who is told what became of a Check that waits.
// It may have several, each with a number of its own, `place`.
class Waiter {
 public:
  virtual ~Waiter() = default;

  // Once for each, without locks, by the thread that runs Advance or Close: the answer, admitted or
  // denied with what refuses it, or an error. Not after Leave has returned true.
  virtual void Answer(int place, const absl::Status& status, const engine::CheckRequest& request,
                      engine::CheckAnswer& answer, Now now) = 0;
  // Whether its caller still has the right to ask; without locks.
  virtual bool MayWait(const engine::CheckRequest& /*request*/) { return true; }
};

// What is done with a Check just now.
enum class Under : uint8_t {
  kNothing,
  kExamination,  // by a thread that does not hold the mutex
};

// Who waits, and until when at most: a monotonic instant.
struct Wait {
  std::shared_ptr<Waiter> waiter;
  int place = 0;  // of the Check, for the waiter
  int64_t until_ns = 0;
};

// One Check that waits. It has one place: in the queue of the line `key`, or, while all of a line
// are looked at, beside it. There may be a hundred thousand of them, so each byte counts.
struct Waiting {
  explicit Waiting(const engine::CheckRequest& request) : asked(request) {}

  uint64_t ticket = 0;  // counts up with arrivals: the order of an identity's Checks
  uint64_t key = 0;
  uint64_t caller = 0;
  double cost = 0;  // at its line
  int64_t since_ns = 0;
  int64_t looked_at_ns = -1;     // the last time; `looks` says how often at that time
  int64_t expected_ns = kNever;  // when its line has room for it, as the engine told
  int looks = 0;
  int refused_again = 0;  // at such an instant, in a row
  Under under = Under::kNothing;
  bool has_turn = false;  // at its line, while it is examined
  bool left = false;      // its caller went away meanwhile
  bool beside = false;    // its queue, until all of the line have been looked at
  absl::Status ended;     // not ok: by whom it was ended meanwhile
  absl::InlinedVector<Turn, 1> turns;
  KeptRequest asked;
  Wait wait;

  engine::CheckRequest Request() const {
    engine::CheckRequest request = asked.request();
    request.waits = true;
    request.ticket = ticket;
    return request;
  }
  Turn* TurnAt(uint64_t line_key) {
    for (Turn& turn : turns) {
      if (turn.key == line_key) return &turn;
    }
    return nullptr;
  }
};

// Kept for somebody who polls and was told when its turn is expected.
struct Place {
  uint64_t id = 0;
  uint64_t key = 0;  // of the line
  uint64_t subject = 0;
  engine::LineFlow flow;
  int64_t cost_ns = 0;
  int64_t held_ns = 0;     // see Line::HeldFor
  uint64_t held_in = 0;    // of Line::yields
  int64_t ends_at_ns = 0;  // dropped if it has not come back by then
  bool had_turn = false;
  bool came_back = false;  // at least once
  bool is_large = false;   // in the queue, and shut out where half of the burst is held
};

// What is known of a line's bucket: as it was when somebody last came to it.
struct BucketState {
  int64_t at_ns = 0;
  int64_t debt_ns = 0;  // of virtual time, as burst and costs are
  int64_t burst_ns = 0;
  int64_t start_level_ns = kNever;  // that may be owed where a Check begins
  double speed = 1;

  double DebtAt(int64_t now_ns) const {
    const double drained = static_cast<double>(std::max<int64_t>(now_ns - at_ns, 0)) * speed;
    return std::max(static_cast<double>(debt_ns) - drained, 0.0);
  }
  // Of all who have had their turn, together: half of what may be owed where another begins.
  int64_t MostHeld() const { return std::min(burst_ns, start_level_ns) / 2; }
  // That may be owed where so much begins, beside what is ahead of it or held. Below 0: it does not
  // fit in however much drains.
  double RoomFor(double cost_ns, double ahead_ns) const {
    return std::min(static_cast<double>(burst_ns) - cost_ns, static_cast<double>(start_level_ns)) -
           ahead_ns;
  }
  // When so much fits in, if what is ahead of it or held will be owed; kNever: not at this speed.
  int64_t FitsAt(double cost_ns, double ahead_ns, int64_t now_ns) const {
    if (burst_ns <= 0) return now_ns;  // it has permits: nobody knows
    return DrainsTo(RoomFor(cost_ns, ahead_ns), now_ns);
  }
  // When no more than that is owed; kNever: not at this speed.
  int64_t DrainsTo(double level_ns, int64_t now_ns) const {
    const double over = DebtAt(now_ns) - level_ns;
    if (over <= 0) return now_ns;
    constexpr double kFar = 1e17;
    if (!(speed > 0) || over / speed > kFar) return kNever;
    return now_ns + static_cast<int64_t>(over / speed) + 1;
  }
};

// One that was looked at and refused while all of its line are looked at.
struct Beside {
  uint64_t ticket;
  KeptFlow flow;
};

struct Line {
  Line(uint64_t line_key, const FairQueue::Options& options) : key(line_key), queue(options) {}

  const uint64_t key;
  FairQueue queue;
  BucketState bucket;
  int64_t held_ns = 0;                 // of all turns and places
  int64_t held_for_absent_ns = 0;      // of that, of places
  uint64_t yields = 0;                 // how often all of that was let go
  Patience patience;                   // of those who are here with those who are not
  int64_t due_ns = kNever;             // when its head is looked at again
  std::optional<uint64_t> head_asked;  // at the last look, which set due_ns
  size_t waiting = 0;                  // Checks, those beside the queue included
  size_t places = 0;
  size_t large_places = 0;
  uint64_t priced_by = 0;  // the policy's version that its costs are of
  bool is_bucket = true;
  bool look_at_all = false;    // some of them may be let go behind others that are not
  std::vector<Beside> beside;  // the queue
  int64_t empty_since_ns = 0;
  int64_t interval_ns = 0;  // between admissions, smoothed; 0: not known
  int64_t admitted_at_ns = 0;
  // For people.
  engine::Limit limit = engine::Limit::kBurst;
  std::string target, budget, bucket_name, rule, profile;

  // For a caller that is not here. What it held before all had to yield is held no more.
  int64_t HeldFor(const Place& place) const { return place.held_in == yields ? place.held_ns : 0; }
  void HoldFor(Place& place, int64_t in_all_ns) {
    const int64_t more_ns = in_all_ns - HeldFor(place);
    held_ns += more_ns;
    held_for_absent_ns += more_ns;
    place.held_ns = in_all_ns;
    place.held_in = yields;
  }
  // Nothing is held any more for those who are not here.
  void YieldHeld() {
    held_ns -= held_for_absent_ns;
    held_for_absent_ns = 0;
    ++yields;
  }
  // Which may be more than half of a burst that has become smaller.
  int64_t HeldByOthers(int64_t own_ns) const {
    return std::clamp<int64_t>(held_ns - own_ns, 0, bucket.MostHeld());
  }
  // Whether such a cost has no room while so much is held, however much drains.
  bool IsShutOut(double cost_ns, int64_t others_hold_ns) const {
    return bucket.burst_ns > 0 && bucket.RoomFor(cost_ns, static_cast<double>(others_hold_ns)) < 0;
  }
  // How much more may be held.
  int64_t RoomToHold() const { return std::max<int64_t>(bucket.MostHeld() - held_ns, 0); }
  bool IsEmpty() const { return waiting == 0 && queue.size() == 0; }
};

}  // namespace headgate::line
