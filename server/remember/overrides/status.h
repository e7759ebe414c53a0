// How overrides are kept, for whoever shows it: GetStatus and /metrics.
//
// OverridesStatus in status_service.proto says what each field means. Plain data.

#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "server/remember/overrides/override.h"

namespace headgate::overrides {

struct OverridesSnapshot {
  bool is_kept = false;  // there is a folder to keep them in
  size_t in_force = 0;
  std::vector<Override> stops = {};  // that pause or throttle everything, the newest first
  absl::Status status = {};          // of the newest change, or why there can be none
};

}  // namespace headgate::overrides
