// Where each part of a message stands in the file that it was read from.
//
// A message is known by its address, so messages must stay where they are for as long as their
// positions are used. Thread-compatible.
//
//   positions.At(budget, v1::Budget::kRateFieldNumber)   // of the value; the budget's where it is
//   absent

#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/govern/config/problem.h"

namespace headgate::config {

class SourcePositions {
 public:
  using Message = google::protobuf::Message;

  void Put(const Message& message, Position at) { positions_[Key(&message, 0)] = {at, false}; }
  void Put(const Message& message, int field, Position at) {
    positions_[Key(&message, field)] = {at, false};
  }
  void PutItem(const Message& message, int field, int index, Position at) {
    positions_[Key(&message, ItemKey(field, index))] = {at, false};
  }
  // The field is in the file, but not as it should be, and that has been said.
  void Spoil(const Message& message, int field) { positions_[Key(&message, field)].spoilt = true; }

  // Whether the file has the field, even if it was of no use.
  bool Given(const Message& message, int field) const {
    return positions_.contains(Key(&message, field));
  }
  bool Spoilt(const Message& message, int field) const { return Find(Key(&message, field)).spoilt; }

  Position At(const Message& message) const { return Find(Key(&message, 0)).at; }
  Position At(const Message& message, int field) const {
    return Given(message, field) ? Find(Key(&message, field)).at : At(message);
  }
  // Of one item of a list of plain values.
  Position AtItem(const Message& message, int field, int index) const {
    return Find(Key(&message, ItemKey(field, index))).at;
  }

 private:
  using Key = std::pair<const Message*, int64_t>;
  struct Mark {
    Position at;
    bool spoilt = false;
  };

  static int64_t ItemKey(int field, int index) { return int64_t{field} << 32 | (index + 1); }

  Mark Find(const Key& key) const {
    const auto it = positions_.find(key);
    return it == positions_.end() ? Mark() : it->second;
  }

  absl::flat_hash_map<Key, Mark> positions_;
};

}  // namespace headgate::config
