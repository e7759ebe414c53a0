// What Cluster knows of one server, and of what the store has of one target.
//
// Thread-compatible, plain data.

#pragma once

#include <cstdint>
#include <memory>

#include "server/decide/line/waiting_lines.h"
#include "tests/sim/leases/cluster.h"

namespace headgate::leases {

struct Cluster::Server {
  int64_t offset_ns = 0;  // of its monotonic clock
  uint64_t process = 0;   // which has the engine
  std::unique_ptr<line::WaitingLines> lines;
  std::unique_ptr<engine::Engine> engine;  // null: it is down; after the lines, which it calls
  int64_t line_due_ns = 0;

  // On its disk, and what is to be expected of a process that starts from it.
  engine::SavedState copy;
  int64_t copied_ns = 0;
  int64_t copy_due_ns = 0;
  Observer::Copy expected;
  int64_t store_due_ns = 0;
};

struct Cluster::Stored {
  Server* owner = nullptr;
  engine::SavedTarget state;
  bool is_final = false;
  Observer::Copy expected;
  int64_t smaller_bursts = 0;  // when it was saved
};

}  // namespace headgate::leases
