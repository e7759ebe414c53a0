// What makes a replay inexact, in plain words.
//
// Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/decide/engine/spec.h"

namespace headgate::throttle_log {

// Counts of Checks, and of seconds.
struct ReplayFacts {
  int64_t shortest_step_s = 0;  // 0: there was nothing to replay
  int64_t longest_step_s = 0;
  int64_t kept_by_health = 0;  // denied then, and for want of better knowledge now
  int64_t kept_by_auto = 0;
  int64_t kept_by_concurrency = 0;
  int64_t slowed = 0;     // denied by a budget that health had slowed
  int64_t folded = 0;     // counted under a level above the identity that asked
  int64_t nameless = 0;   // counted under no identity: left out
  int64_t undecided = 0;  // the new rules cannot decide: left out
  std::string why_undecided = {};
};

std::vector<std::string> Caveats(const engine::PolicySpec& policy, const ReplayFacts& facts);

}  // namespace headgate::throttle_log
