// What agent is asked, parsed and checked.
//
// Plain data; thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headgate::cli {

struct AgentArguments {
  enum class Action : uint8_t { kRun, kCheck, kRestore } action = Action::kRun;
  std::string dsn = {};  // empty: as libpq finds it
  // Which sessions are batch work, as `batch_work` of the server's configuration has it.
  std::vector<std::string> roles = {};
  std::vector<std::string> application_names = {};
  std::string state_folder = {};
  std::string metrics_file = {};  // empty: none
  double floor = 0.05;            // a share of PostgreSQL's processors; 0: none
  // Whether it tells the server what it does: where an address is given.
  bool tells_server = false;
  std::string target = {};  // where --target names none
};

}  // namespace headgate::cli
