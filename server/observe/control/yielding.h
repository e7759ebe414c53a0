// Yielding: what is known of a target's sessions of batch work that yield the processor, as the
// agent beside PostgreSQL tells it.
//
// A session that yields runs only where no other session of the server wants the processor, so that
// how long it takes says little of what it does to others: its processor time does. What is told
// holds for as long as a lease; where nothing is told any more, nothing yields.
//
// A value. Thread-compatible.

#pragma once

#include <cstdint>
#include <string>

namespace headgate::control {

struct Yielding {
  bool works = false;            // it was proved there, and an agent sees to it now
  std::string means = {};        // by which it works, or why it does not: a whole sentence
  int64_t sessions = 0;          // that yield now
  int64_t raised = 0;            // of batch work that do not for now
  double processor_seconds = 0;  // of batch work since the agent began; it grows
  uint64_t raises = 0;           // how often one was raised since then; it grows
  bool operator==(const Yielding&) const = default;
};

}  // namespace headgate::control
