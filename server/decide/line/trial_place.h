// TrialPlace: where somebody stands in a line's queue, or would if it came now, for as long as it
// is looked at. Nobody's place is changed, its own neither.
//
// Guarded by the owner of the line. Nothing else is done with the queue meanwhile.
//
//   const TrialPlace trial(state.lines, line, {.flow = flow, .cost = cost, .place = place});
//   const size_t position = line.queue.Position(trial.id());

#pragma once

#include <cstdint>

#include "server/decide/line/line_table.h"

namespace headgate::line {

class TrialPlace {
 public:
  struct Whose {
    const engine::LineFlow& flow;
    double cost = 0;
    const Place* place = nullptr;  // that it has as one who polls; null: none
  };

  TrialPlace(const LineTable& lines, Line& line, const Whose& whose) : line_(line) {
    // What its own Check costs moves nobody in front of it.
    if (whose.place != nullptr && !whose.place->had_turn) {
      id_ = whose.place->id;
      return;
    }
    // Who has none to come back to is not remembered by the queue. Who has had its turn, and finds
    // no room, is put back to where it stood.
    id_ = lines.next_id();
    stands_ = true;
    line_.queue.Push(id_, whose.flow, whose.cost, whose.place == nullptr ? id_ : whose.place->id);
  }
  ~TrialPlace() {
    if (stands_) line_.queue.Remove(id_);
  }
  TrialPlace(const TrialPlace&) = delete;
  TrialPlace& operator=(const TrialPlace&) = delete;

  uint64_t id() const { return id_; }

 private:
  Line& line_;
  uint64_t id_ = 0;
  bool stands_ = false;
};

}  // namespace headgate::line
