// What the lines know, and who of those that wait leaves them: what WaitingLines keeps under its
// mutex.
//
//   line_table.h           the lines, and when each is looked at
//   ticket_table.h         who waits, until when, and how many more may
//   place_table.h          who polls, and has a place
//   line_tasks.h           what is done next, and when
//   place_in_line.h        whether a Check that comes to a bucket may pass before others
//   examination_outcome.h  what becomes of a Check that was examined again
//   wait_accounts.h        how long they wait, for the throttle log
//   read_lines.h           what is shown of it
//
// Guarded by its owner.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/decide/line/line_options.h"
#include "server/decide/line/line_table.h"
#include "server/decide/line/line_tasks.h"
#include "server/decide/line/line_view.h"
#include "server/decide/line/place_table.h"
#include "server/decide/line/ticket_table.h"
#include "server/decide/line/wait_accounts.h"

namespace headgate::line {

struct LineState {
  // `count` is kept at how many lines there are, `held` at what those who wait take; both outlive
  // it.
  LineState(const LineOptions& options, std::atomic<int64_t>& count, HeldBytes& held);

  LineTable lines;
  TicketTable tickets;
  PlaceTable places;
  LineTasks tasks;
  WaitAccounts waits;
  LineStats stats;
  int64_t now_ns = 0;  // as it was told last
};

// How the wait of a Check ends, and when.
struct Ending {
  absl::Status status;
  WaitEnd end = WaitEnd::kEnded;
  int64_t at_ns = 0;
};

// A Check that has left the lines, to be answered without the mutex.
struct Departure {
  std::unique_ptr<WaitingCheck> waiting;  // null: it stays
  absl::Status status;
};

// Those who wait in a line, in the order of their arrival; in time for these alone, however many
// others wait.
std::vector<WaitingCheck*> WaitingIn(const LineState& state, const Line& line);

// Takes one out of its line and out of all tables, and lets go of what is held for it.
Departure Depart(LineState& state, WaitingCheck& waiting, Ending ending);

}  // namespace headgate::line
