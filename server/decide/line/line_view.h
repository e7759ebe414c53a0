// A line as people see it: who waits for what, since when, and when their turn is expected.
//
// Plain data; thread-compatible.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/answer.h"
#include "server/decide/line/wait_times.h"

namespace headgate::line {

// One Check that waits.
struct WaitingView {
  uint64_t ticket = 0;
  std::string identity;
  std::string caller;  // empty: nobody is named
  int priority = 0;
  double cost_ns = 0;       // of its bucket, in virtual time; 0 where the line is not a bucket's
  size_t position = 0;      // 1: next
  absl::Duration waited;    // so far
  absl::Duration left;      // until it is answered in any case
  absl::Duration expected;  // until its turn, as far as that is known; infinite: it is not
};

// One line.
struct LineView {
  uint64_t key = 0;
  std::string target;
  std::string budget;                           // empty: it is at a gate or behind a rule
  std::string bucket;                           // empty: of the whole budget
  std::string profile;                          // whose gate is shut; empty: it is no gate's line
  std::string rule;                             // that pauses, or names the gate; may be empty
  engine::Limit limit = engine::Limit::kBurst;  // that refused whoever came last
  size_t waiting = 0;
  double cost_ns = 0;                            // of all of them; see WaitingView
  int64_t held_ns = 0;                           // of the burst, for those who had their turn
  size_t places = 0;                             // of those who poll
  absl::Duration oldest = absl::ZeroDuration();  // how long that one has waited which came first
  absl::Duration next = absl::ZeroDuration();  // until the next may have room; infinite: not known
  std::vector<WaitingView> first = {};         // those who are next, in order
};

// Which lines to read.
struct LineQuery {
  std::string_view target = {};  // empty: of all
  std::string_view budget = {};  // empty: of all, and those at gates and pauses
  size_t most_lines = 0;
  size_t most_waiting = 0;  // of each line, in LineView::first
};

// The line that somebody has waited in for longest first.
struct LinesView {
  std::vector<LineView> lines;
  size_t in_all = 0;   // that fit the query, those left out included
  size_t waiting = 0;  // Checks in all of those
};

// Who might come to a line, and what it would take of a bucket's.
struct Newcomer {
  uint64_t key = 0;          // of the line
  uint64_t subject_key = 0;  // whose place, if it polls and has one, is its own; 0: nobody's
  const engine::LineFlow& flow;
  int64_t cost_ns = 0;  // in virtual time; 0 where the line is no bucket's
};

// Where a Check that has not come would stand in a line.
struct PlaceView {
  size_t waiting = 0;  // in the line; 0: there is none, and nothing else is known
  absl::Duration oldest;
  size_t position = 0;       // 1: next
  double cost_ahead_ns = 0;  // of those before it; 0 where the line is no bucket's
  absl::Duration expected;   // infinite: nobody knows
};

// How the wait of a Check ended.
enum class WaitEnd : uint8_t {
  kAdmitted,
  kTimedOut,  // answered at its deadline
  kLeft,      // its caller went away
  kEnded,     // by a stop, by rights that changed, by an error, by what time does not cure
};
inline constexpr size_t kWaitEnds = 4;

struct LineStats {
  size_t waiting = 0;
  size_t lines = 0;                              // with those that only remember shares
  size_t waited_in = 0;                          // lines that somebody waits in
  absl::Duration oldest = absl::ZeroDuration();  // so long has the first who came waited
  double max_waiting_share = 0;
  size_t places = 0;  // kept for those who poll
  size_t max_waiting = 0;
  size_t watches = 0;  // who holds leases, and waits for an order that takes them back
  uint64_t entered = 0;
  uint64_t refused_full = 0;
  uint64_t refused_caller_full = 0;
  uint64_t examined = 0;
  std::array<WaitTimes, kWaitEnds> waits;  // of all whose wait has ended

  const WaitTimes& WaitsThat(WaitEnd end) const { return waits[static_cast<size_t>(end)]; }
  uint64_t admitted() const { return WaitsThat(WaitEnd::kAdmitted).count(); }
  uint64_t timed_out() const { return WaitsThat(WaitEnd::kTimedOut).count(); }
  uint64_t left() const { return WaitsThat(WaitEnd::kLeft).count(); }
  uint64_t ended() const { return WaitsThat(WaitEnd::kEnded).count(); }
};

}  // namespace headgate::line
