// What an agent tells headgated of what it does.
//
// Values. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/agent/work_times.h"

namespace headgate::agent {

// A session, as PostgreSQL shows it. What is not known is empty.
struct NamedSession {
  int pid = 0;
  std::string role = {};
  std::string application_name = {};

  friend bool operator==(const NamedSession&, const NamedSession&) = default;
};

// What an agent has counted so far.
struct Counted {
  uint64_t raises = 0;
  WorkSeconds work = {};         // of sessions while they yielded
  WorkSeconds recent_work = {};  // the same, of late
};

struct AgentReport {
  // As many as are named of each kind.
  static constexpr size_t kMostNamed = 16;

  struct Raised {
    NamedSession session = {};
    std::optional<NamedSession> waiter = {};  // absent: it got next to no processor
  };

  bool yields = false;
  std::string means = {};  // by which it works, or why it does not
  size_t yielding = 0;
  size_t raised = 0;
  Counted counted = {};
  double processor_seconds = 0;                      // of sessions since they were first seen
  std::vector<NamedSession> yielding_sessions = {};  // some
  std::vector<Raised> raised_sessions = {};          // some
};

}  // namespace headgate::agent
