// Who waits: every Check in a line by its ticket, when its time is up, and how many more may wait.
//
// A caller may have so many, and no more; the last places of all are kept for callers that have few
// (LineOptions::max_waiting_share).
//
// Invariant: there is a deadline for each ticket, and a count for each caller that has a ticket,
// and for each target that one names.
//
// Guarded by its owner.
//
//   if (tickets.RoomFor(caller) == Entered::kWaits) tickets.Add(std::move(waiting));

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "common/held_bytes.h"
#include "common/strings.h"
#include "server/decide/line/instants.h"
#include "server/decide/line/line_options.h"
#include "server/decide/line/waiting_check.h"

namespace headgate::line {

class TicketTable {
 public:
  using Tickets = absl::flat_hash_map<uint64_t, std::unique_ptr<WaitingCheck>>;

  // Counts in `held` what those who wait take, which outlives this.
  TicketTable(const LineOptions& options, HeldBytes& held);
  TicketTable(const TicketTable&) = delete;
  TicketTable& operator=(const TicketTable&) = delete;

  // kWaits: there is room for another of this caller.
  Entered RoomFor(uint64_t caller) const;
  size_t max_of_caller() const { return max_of_caller_; }

  // One whose ticket, caller and deadline are set.
  WaitingCheck& Add(std::unique_ptr<WaitingCheck> waiting);
  std::unique_ptr<WaitingCheck> Remove(const WaitingCheck& waiting);

  // Null: it does not wait any more.
  WaitingCheck* Find(uint64_t ticket) const;
  const Tickets& all() const { return by_ticket_; }
  size_t size() const { return by_ticket_.size(); }
  // Whether anybody waits who asked for this target. Who names none asks for the only one there is.
  bool HasOfTarget(std::string_view target) const {
    return of_target_.contains(Sv(target)) || of_target_.contains("");
  }

  // kNever: nobody waits.
  int64_t NextDeadline() const { return deadlines_.empty() ? kNever : deadlines_.begin()->first; }
  // Requires that somebody waits.
  WaitingCheck& FirstToEnd() const { return *Find(deadlines_.begin()->second); }

 private:
  const size_t max_waiting_;
  const size_t max_of_caller_;
  // The last places are for callers of whom few wait.
  const size_t kept_for_few_;
  HeldBytes& held_;
  Tickets by_ticket_;
  absl::flat_hash_map<uint64_t, size_t> of_caller_;
  absl::flat_hash_map<std::string, size_t> of_target_;       // as the Checks name it
  absl::btree_set<std::pair<int64_t, uint64_t>> deadlines_;  // instants and tickets
};

}  // namespace headgate::line
