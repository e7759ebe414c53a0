// The places of those who poll: who was told when its turn is expected, and comes back by then or a
// quarter of that time later, finds its turn.
//
// A place stands in its line's queue like a Check. When it is the head, the line waits until its
// cost would fit, as it would for a Check; then its room is held until it comes back, and the next
// one is the head. Where that keeps others waiting although nothing drains for them, it is for as
// long as the line has patience (patience.h): then what is held for all who are not there is let
// go, and a place at the head has had its turn, with no room held.
//
// Invariants:
// - A subject has one place in a line at most.
// - A place is in its line's queue exactly while it has not had its turn.
// - Line::places has the ids of those of the line, and Line::large_places counts some of them.
//
// Guarded by its owner.
//
//   if (Place* place = places.Keep(line, arrival)) places.SetEnd(*place, ends_at_ns);

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/line/line_table.h"

namespace headgate::line {

class PlaceTable {
 public:
  // Room for `most` places. `lines` outlives it.
  PlaceTable(size_t most, LineTable& lines) : most_(most), lines_(lines) {}
  PlaceTable(const PlaceTable&) = delete;
  PlaceTable& operator=(const PlaceTable&) = delete;

  // Null: the subject has none at that line.
  Place* Find(uint64_t key, uint64_t subject) const;
  // Null: in the queue, the id is a Check's that waits.
  Place* Get(uint64_t id) const;
  size_t size() const { return by_id_.size(); }

  // Whether one that has no place in the line gets one: there are not too many, and somebody waits
  // there, or did until a while ago.
  bool MayKeep(const Line& line, int64_t now_ns) const;
  // The place of who arrives, which stands in the queue with the cost of this arrival from now on.
  // Null: there are too many places, or nobody has waited in the line for long.
  Place* Keep(Line& line, const engine::LineArrival& arrival);
  // Lets the place end then, and not before.
  void SetEnd(Place& place, int64_t ends_at_ns);
  // kNever: there are no places.
  int64_t NextEnd() const { return ends_.empty() ? kNever : ends_.begin()->first; }
  // Requires that there is one that ends.
  void DropFirstToEnd() { Drop(*Get(ends_.begin()->second)); }
  void Drop(Place& place);
  void DropAllOf(const Line& line);

  // The place is the head of its line: it has its turn, or the line waits for it a little longer.
  void OfferTurn(Line& line, Place& place, int64_t now_ns);
  // Costs in the line are `by` times what they were. Its queue is a new one, without places.
  void Reprice(Line& line, double by);

 private:
  static void Enqueue(Line& line, Place& place);
  static void Unqueue(Line& line, Place& place);

  const size_t most_;
  LineTable& lines_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Place>> by_id_;
  absl::flat_hash_map<uint64_t, uint64_t> by_subject_;  // ids, by line and subject
  absl::btree_set<std::pair<int64_t, uint64_t>> ends_;  // instants and ids
};

}  // namespace headgate::line
