// Who is held back now, and by what: who waits in line, and who was denied of late.
//
// Pure functions; thread-safe.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/top/top_fetch.h"

namespace headgate::cli {

struct HeldBack {
  std::string identity;
  std::string target;
  std::string by;  // what it waits for, or else what denied it last
  int64_t waiting = 0;
  absl::Duration longest;  // of those who wait
  int64_t denied = 0;      // in TopFetch::kRecent
  int64_t checks = 0;      // likewise, whatever became of them
  std::string leases;      // "2 leases of 900" that it holds; empty: none
};

enum class TopOrder { kDenied, kWaited, kName };

// The first ones are the worst.
std::vector<HeldBack> WhoIsHeldBack(const TopAnswers& answers, TopOrder order);

}  // namespace headgate::cli
