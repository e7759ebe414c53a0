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
  // Where whoever reaches the network may do everything: an address in plaintext that is not the
  // loopback, without access. Empty: nowhere.
  std::string exposed_at = {};
};

inline std::string ExposedText(const std::string& address) {
  return address +
         " is in plaintext, reachable from elsewhere, and nobody is asked who they are: "
         "whoever reaches it may do everything; configure tls and access, or listen on "
         "127.0.0.1";
}

}  // namespace headgate::access
