// Script: what befalls the servers and when, while jobs go on: one is killed, one is stopped in its
// tracks for 10 s, one is upgraded.
//
// Thread-compatible.
//
//   Script script(fleet, interrupt, screen, 1);
//   absl::Status status = script.Run();
//   ... PlotServers(script.record()) ...
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/demo/interrupt.h"
#include "tests/demo/screen.h"
#include "tests/demo/servers/fleet.h"
#include "tests/demo/servers/jobs.h"
#include "tests/demo/servers/record.h"

namespace headgate::demo {

class Script {
 public:
  // `pace` is a factor for the length of everything.
  Script(Fleet& fleet, const FleetOptions& options, const Interrupt& interrupt, Screen& screen,
         double pace);

  // Cancelled if it was interrupted; else what went wrong.
  absl::Status Run();

  const ServersRecord& record() const { return record_; }

 private:
  struct Step {
    double at_s;
    std::function<absl::Status()> act;
  };

  std::vector<Step> Steps();
  void Happen(int server, const std::string& what);
  absl::Status Tick(const Jobs& jobs);
  void Show(const Jobs& jobs);
  std::vector<std::string> Panel(const Jobs& jobs) const;
  std::string StateOf(int server) const;
  double Seconds() const;

  Fleet& fleet_;
  const Interrupt& interrupt_;
  Screen& screen_;
  const double pace_;
  const int64_t began_ns_;
  ServersRecord record_;
  // Rows a second of each database, one for each tick.
  std::vector<std::vector<double>> rates_;
  std::vector<double> admitted_;  // at the tick before
  double last_tick_s_ = 0;
  double last_line_s_ = 0;
};

}  // namespace headgate::demo
