// Which configuration is in force, and what became of the newest file.
//
// Plain data, thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::config {

struct LoadStatus {
  std::string path;     // empty: the server runs without a file
  int64_t version = 0;  // counts what was in force, from 1
  absl::Time loaded_at = absl::InfinitePast();
  std::vector<std::string> errors;  // "file:line:column: what", of a file that was refused
  absl::Time refused_at = absl::InfinitePast();
  std::vector<std::string> pending_restart;  // fields whose change takes a restart
  std::vector<std::string> warnings = {};    // "file:line:column: what", of the one in force
};

}  // namespace headgate::config
