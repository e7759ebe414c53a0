// Which PostgreSQL tests, benchmarks and the demonstration run: that of the folder
// HEADGATE_POSTGRES where that is set, such as /usr/lib/postgresql/17; else the newest that Debian
// installed.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace headgate {

// The folder of its programs. An error says what is missing.
absl::StatusOr<std::string> FindPostgresBin();

}  // namespace headgate
