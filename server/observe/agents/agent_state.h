// What an agent tells of one target: which sessions of batch work yield the processor there, and
// which do not, and for whom.
//
// Values. Thread-compatible.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/observe/control/yielding.h"

namespace headgate::agents {

// A session, as PostgreSQL shows it. What is not known is empty.
struct Session {
  int32_t pid = 0;
  std::string role = {};
  std::string application_name = {};

  bool operator==(const Session&) const = default;
};

struct RaisedSession {
  Session session = {};
  // One of those that wait for it. Absent: it got next to no processor.
  std::optional<Session> waiter = {};

  bool operator==(const RaisedSession&) const = default;
};

// What sessions that yield were at while they were at work, in seconds.
struct WorkSeconds {
  double processor = 0;  // they ran, or waited for a processor
  double disk = 0, locks = 0, standbys = 0, other = 0;

  bool operator==(const WorkSeconds&) const = default;
};

struct AgentState {
  control::Yielding yielding = {};
  WorkSeconds work = {};         // since the agent began; it grows
  WorkSeconds recent_work = {};  // with a memory of 10 s
  // Some of them; the numbers above are of all.
  std::vector<Session> yielding_sessions = {};
  std::vector<RaisedSession> raised_sessions = {};

  bool operator==(const AgentState&) const = default;
};

// What is known of a target's agent.
struct AgentView {
  std::string target;
  std::string peer = {};  // where it calls from, as gRPC has it
  bool is_here = false;   // its lease holds; else all below is what it said last
  AgentState state = {};
  int64_t since_ns = 0;  // when it came, monotonic
  int64_t told_ns = 0;   // when it said so
};

}  // namespace headgate::agents
