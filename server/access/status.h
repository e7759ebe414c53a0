// Whether access is on and how its tokens fare, for whoever shows it: GetStatus and /metrics.
//
// AccessStatus in status_service.proto says what each field means. Plain data.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace headgate::access {

struct AccessSnapshot {
  bool is_on = false;
  std::string token_file = {};  // empty: there is none
  int64_t tokens = 0;
  absl::Status status = {};  // of the newest token file
};

}  // namespace headgate::access
