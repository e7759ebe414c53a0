// Headgated: the server that the agent tells what it does, as the agent sees it. Nothing that
// becomes of it changes what is done with sessions.
//
// None of its functions blocks. For the agent's thread.
//
//   headgated.Tell(report);
//   for (const std::string& line : headgated.TakeLines()) log(line);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/agent/agent_report.h"
#include "client/agent/database.h"

namespace headgate::agent {

class Headgated {
 public:
  virtual ~Headgated() = default;

  // What holds from now on. Where sessions yield it is to be told again within kToldAgainWithin,
  // as an agent that says nothing any more may do nothing any more either.
  static constexpr absl::Duration kToldAgainWithin = absl::Seconds(3);
  virtual void Tell(const AgentReport& report) = 0;
  // Nothing holds any more, until the next Tell: another agent may tell of the target.
  virtual void FallSilent() = 0;

  // What there is to say of it since the last time, for people.
  virtual std::vector<std::string> TakeLines() = 0;

  // Which sessions are batch work in its configuration, as it said last. Absent: it has said
  // nothing yet.
  virtual std::optional<BatchWork> batch_work() = 0;
};

}  // namespace headgate::agent
