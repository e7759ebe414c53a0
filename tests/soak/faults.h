// What goes wrong in each cycle of a soak, and what an operator does: reloads, good and bad ones; a
// database that hangs, and one that crashes and comes back; a disk that is full.
//
// Belongs to the thread that started the server. Nothing is left broken at the end of a cycle.
//
//   Faults faults(server);
//   for (int cycle = 0; ...) faults.RunCycle(cycle, begins_at_ns);

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "tests/soak/soak_server.h"

namespace headgate::soak {

inline constexpr int kCycleSeconds = 15;

class Faults {
 public:
  explicit Faults(SoakServer& server) : server_(server) {}

  // Returns when the cycle's time is over. An error: the soak itself cannot go on, or the server
  // has ended.
  absl::Status RunCycle(int number, int64_t begins_ns);

 private:
  // Until so many seconds of the cycle are over.
  void WaitFor(double second) const;
  absl::Status Database();
  absl::Status Disk();

  SoakServer& server_;
  int64_t begins_ns_ = 0;
};

}  // namespace headgate::soak
