// How overrides are kept, for whoever shows it: GetStatus and /metrics.
//
// OverridesStatus in status_service.proto says what each field means. Plain data.

#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace headgate::overrides {

struct OverridesSnapshot {
  bool is_kept = false;  // there is a folder to keep them in
  size_t in_force = 0;
  absl::Status status = {};  // of the newest change, or why there can be none
};

}  // namespace headgate::overrides
