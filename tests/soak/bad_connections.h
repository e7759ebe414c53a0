// Connections that are no callers: open and silent, with half a greeting, with rubbish, or cut in
// the middle of it. The oldest goes, by a reset, for each that comes; all go with the object.
//
// Thread-compatible.

#pragma once

#include <cstdint>
#include <deque>

#include "tests/soak/soak_state.h"

namespace headgate::soak {

class BadConnections {
 public:
  explicit BadConnections(SoakState& state) : state_(state) {}
  ~BadConnections();
  BadConnections(const BadConnections&) = delete;
  BadConnections& operator=(const BadConnections&) = delete;

  void OpenOnce();

 private:
  void Reset(int fd) const;

  SoakState& state_;
  std::deque<int> open_;
  uint64_t opened_ = 0;
};

}  // namespace headgate::soak
