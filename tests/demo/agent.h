// Agent: `headgate agent` beside the stage's PostgreSQL, which has the backfill's sessions yield
// the processor and tells headgated so.
//
// Which sessions those are it takes from the server. Once this is destroyed, or stopped, nothing is
// lowered any more. Thread-compatible; the stage and headgated outlive it.
//
//   absl::StatusOr<Agent::Started> started = Agent::Start(stage, headgated, wait_a_moment);
//   if (!started.ok()) return started.status();
//   if (started->agent == nullptr) say(started->why_not);
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/demo/headgated.h"
#include "tests/demo/stage.h"
#include "tests/testing/subprocess.h"

namespace headgate::demo {

class Agent {
 public:
  struct Started {
    std::unique_ptr<Agent> agent = nullptr;  // null: nothing yields here
    std::string means = {};                  // by which sessions yield
    std::string why_not = {};                // the agent's reason, where they do not
  };
  // Lets a moment pass. An error ends what is being waited for.
  using Wait = std::function<absl::Status()>;

  // Returns once headgated has been told that sessions yield, or that they cannot, or has
  // heard nothing for too long. Errors are those of `wait` and of headgated.
  static absl::StatusOr<Started> Start(Stage& stage, Headgated& headgated, const Wait& wait);
  ~Agent();

  // An error once it has ended by itself.
  absl::Status Health();
  // Returns when all sessions are as they were; an error where they are not.
  absl::Status Stop() { return process_.Stop(); }

 private:
  Agent(Stage& stage, const Headgated& headgated);

  // What it said last.
  std::string LastWords();

  Subprocess process_;
};

}  // namespace headgate::demo
