// What a record of several servers comes to. Pure functions. Thread-compatible.
//
//   std::cout << ServersLine(Evaluate(record)) << "\n";
#pragma once

#include <cstdint>
#include <string>

#include "tests/demo/servers/record.h"

namespace headgate::demo {

struct ServersResults {
  int64_t checks = 0;
  int64_t failed_checks = 0;  // though each server was asked
  // Rows beyond what one server would have admitted, in whichever span of time they are most. Only
  // what was asked and answered within a span certainly was admitted in it.
  double over_admitted = 0;
  double longest_gap_ms = 0;  // in which nobody was answered about one of the databases
  double share_of_due = 0;    // of all that was due, in all of the time
};

ServersResults Evaluate(const ServersRecord& record);

// "servers: failed_checks=... over_admitted=... longest_gap_ms=..."
std::string ServersLine(const ServersResults& results);

}  // namespace headgate::demo
