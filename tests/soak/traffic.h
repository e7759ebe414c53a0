// All actors of a soak, each on a thread of its own, from construction to Stop().
//
// Thread-compatible.

#pragma once

#include <thread>
#include <vector>

#include "tests/soak/soak_state.h"

namespace headgate::soak {

class Traffic {
 public:
  explicit Traffic(SoakState& state);  // which outlives it
  ~Traffic() { Stop(); }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Returns when the last call has ended, and the last connection is closed.
  void Stop();

 private:
  SoakState& state_;
  std::vector<std::thread> threads_;
};

}  // namespace headgate::soak
