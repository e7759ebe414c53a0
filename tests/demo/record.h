// What an experiment recorded: plain data, from which results.h and plot.h draw.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/load/chunk_log.h"
#include "tests/load/transactions.h"

namespace headgate::demo {

// What runs beside the foreground, which never stops.
enum class Phase {
  kPause,          // nothing; not measured, while the database settles
  kAlone,          // nothing
  kSettling,       // the backfill, which asks Headgate, that does not know its rate yet
  kThrottled,      // the same from then on
  kYieldSettling,  // the same backfill, whose sessions yield the processor; likewise at first
  kYielding,       // the same from then on
  kFixed,          // the backfill at a fixed rate
  kGreedy,         // the backfill as fast as it can
};

// One stretch of one phase.
struct Slice {
  Phase phase = Phase::kPause;
  load::Window window = {};
  double fixed_rate = 0;  // of kFixed: rows a second that were aimed at
};

// What Headgate's controller held to be right.
struct ControllerSample {
  absl::Time at;
  double rate = 0;         // busy seconds a second; where sessions yield, sessions at once
  std::string phase = {};  // "idle", "work", "pause"
  int64_t yielding = 0;    // sessions that yield, or were raised, as the agent told
};

struct CheckCounts {
  int64_t allowed = 0;
  std::map<std::string, int64_t> denied;  // by what refused
};

struct Record {
  absl::Time began;
  std::vector<Slice> slices;  // in order of time
  load::Transactions transactions;
  load::ChunkLog chunks;
  std::vector<ControllerSample> controller;
  CheckCounts checks;
  std::string yields_by = {};   // a means of the agent's; empty: nothing was to yield
  std::string yields_not = {};  // why the phases that yield were left out, in the agent's words
};

}  // namespace headgate::demo
