// The lines by the keys of their limits: which Check stands in which, and when each line is looked
// at again.
//
// A line is made for the first Check that is refused at its limit, and is erased by its owner.
//
// Invariants:
// - A line is in the schedule exactly while its due_ns is not kNever, and by that instant.
// - Line::waiting counts the Checks whose `key` is the line's.
// - Ids are given once: no two that stand in queues have the same.
//
// Guarded by its owner; but for `count`, which others may read.
//
//   Line& line = lines.Join(waiting, binding, answer);
//   if (lines.NextDue() <= now_ns) ... look at lines.FirstDue() ...

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "server/decide/engine/answer.h"
#include "server/decide/line/line.h"

namespace headgate::line {

class LineTable {
 public:
  using Lines = absl::flat_hash_map<uint64_t, std::unique_ptr<Line>>;

  // See FairQueue for the floor. `count` is kept at how many lines there are, and outlives it.
  LineTable(double priority_floor, std::atomic<int64_t>& count)
      : priority_floor_(priority_floor), count_(count) {}
  LineTable(const LineTable&) = delete;
  LineTable& operator=(const LineTable&) = delete;

  // Null: there is none.
  Line* Find(uint64_t key) const;
  const Lines& all() const { return by_key_; }
  size_t size() const { return by_key_.size(); }

  // For whoever comes to stand in a queue. They count up.
  uint64_t NewId() { return next_id_++; }
  // Nobody's yet.
  uint64_t next_id() const { return next_id_; }

  // Into the line of what refuses it, which is made if need be.
  Line& Join(WaitingCheck& waiting, const engine::Violation& binding,
             const engine::CheckAnswer& answer);
  // One of the line was refused by the line's own limit: what its Checks wait for may be told
  // otherwise than before, as where another signal binds.
  static void NoteCause(Line& line, const engine::Violation& violation,
                        const engine::CheckAnswer& answer);
  // Out of its line.
  void Part(WaitingCheck& waiting, int64_t now_ns);
  // Lets go of what is held for it where it has had its turn: here, or everywhere.
  static void ReleaseTurn(WaitingCheck& waiting, Line& line);
  void ReleaseTurns(WaitingCheck& waiting);

  // Lets its head be looked at then, and not before.
  void SetDue(Line& line, int64_t due_ns);
  // After a change of its queue: a new head is looked at at once.
  void Touch(Line& line) {
    if (line.queue.Head() != line.head_asked) SetDue(line, kAtOnce);
  }
  // kNever: none is due.
  int64_t NextDue() const { return schedule_.empty() ? kNever : schedule_.begin()->first; }
  // Requires that one is due.
  Line& FirstDue() const { return *Find(schedule_.begin()->second); }

  FairQueue NewQueue() const { return FairQueue({.priority_floor = priority_floor_}); }
  // Nobody is in it, and it has no places.
  void Erase(Line& line);

 private:
  Line& LineOf(const engine::Violation& violation, const engine::CheckAnswer& answer,
               const engine::CheckRequest& request);

  const double priority_floor_;
  std::atomic<int64_t>& count_;
  Lines by_key_;
  absl::btree_set<std::pair<int64_t, uint64_t>> schedule_;  // instants and keys
  uint64_t next_id_ = 1;
};

}  // namespace headgate::line
