// SessionRanks: the ranks of one server's batch sessions, look by look: what the plan and the floor
// decide, and the yielder does.
//
//   processor times, as far as they say something -> ProcessorFloor -> YieldPlan -> Yielder
//
// Thread-compatible. Times are monotonic.
//
//   SessionRanks ranks(processes, journal, {.means = means, .processors = 0.1});
//   const auto changes = ranks.Look({.sessions = sight->sessions, .waits = waits}, now_ns);
#pragma once

#include <cstdint>
#include <vector>

#include "client/agent/journal.h"
#include "client/agent/processes.h"
#include "client/agent/processor_floor.h"
#include "client/agent/yield_plan.h"
#include "client/agent/yielder.h"

namespace headgate::agent {

class SessionRanks {
 public:
  struct Options {
    Means means = {};
    double processors = 0;  // the floor
    int postmaster = 0;
  };
  SessionRanks(Processes& processes, Journal& journal, const Options& options);

  struct Sight {
    std::vector<BatchSession> sessions = {};
    std::vector<LockWait> waits = {};
  };
  std::vector<Yielder::Change> Look(Sight sight, int64_t now_ns);

  Yielder& yielder() { return yielder_; }

 private:
  void ReadProcessorTimes(std::vector<BatchSession>& sessions, int64_t now_ns);
  bool Relieves(std::vector<BatchSession>& sessions, int64_t now_ns);

  Processes& processes_;
  const int postmaster_;
  YieldPlan plan_;
  ProcessorFloor floor_;
  Yielder yielder_;
  int64_t times_at_ns_ = 0;
};

}  // namespace headgate::agent
