// What the demonstration of several servers recorded: plain data, from which results.h and plot.h
// draw.
//
// Times are seconds since it began, by a monotonic clock. Thread-compatible.
#pragma once

#include <string>
#include <vector>

namespace headgate::demo {

// A Check, with all its tries.
struct AskedCheck {
  double asked_s = 0;
  double answered_s = 0;
  double cost = 0;  // that was admitted
  bool failed = false;
};

// Who decided for each database from then on; empty: nobody.
struct OwnersSince {
  double at_s = 0;
  std::vector<std::string> owners = {};
};

struct Happening {
  double at_s = 0;
  std::string what = {};  // "headgate-1 is killed"
};

struct DatabaseRecord {
  std::string name = {};
  std::vector<AskedCheck> checks = {};  // by the time of the answer
};

struct ServersRecord {
  double rate = 0;   // rows a second that each database is due
  double burst = 0;  // rows
  double ended_s = 0;
  std::vector<std::string> servers = {};
  std::vector<DatabaseRecord> databases = {};
  std::vector<OwnersSince> owners = {};  // in order of time
  std::vector<Happening> happenings = {};
};

}  // namespace headgate::demo
