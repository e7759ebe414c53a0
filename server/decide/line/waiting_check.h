// One Check that waits. There may be a hundred thousand of them, so each byte counts.
//
// Plain data, guarded by its owner.

#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "server/decide/engine/answer.h"
#include "server/decide/line/instants.h"
#include "server/decide/line/kept_request.h"
#include "server/decide/line/waiter.h"

namespace headgate::line {

// Where a Check had its turn, and how much of that bucket's burst is kept for it since: none where
// half of the burst is kept already.
struct Turn {
  uint64_t key = 0;  // of the line
  int64_t held_ns = 0;
};

struct WaitingSubject;

// It stands in the queue of the line `key`, or, while all of that line are examined one after
// another, among those that are put back into the queue at the end.
struct WaitingCheck {
  explicit WaitingCheck(const engine::CheckRequest& request) : asked(request) {}

  uint64_t ticket = 0;  // counts up with arrivals: the order of an identity's Checks
  uint64_t key = 0;
  uint64_t caller = 0;
  double cost = 0;  // at its line
  int64_t since_ns = 0;
  int64_t in_line_since_ns = 0;       // the one that it is in now
  WaitingSubject* subject = nullptr;  // whose waits it counts among
  int64_t looked_at_ns = -1;          // the last time; `looks` says how often at that time
  int64_t expected_ns = kNever;       // when its line has room for it, as the engine told
  int looks = 0;
  int refused_again = 0;        // at such an instant, in a row
  bool in_examination = false;  // by a thread that does not hold the mutex
  bool has_turn = false;        // at its line, while it is examined
  bool left = false;            // its caller went away meanwhile
  bool awaits_requeue = false;  // it is in Line::to_requeue instead of the queue
  absl::Status ended;           // not ok: by whom it was ended meanwhile
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

}  // namespace headgate::line
