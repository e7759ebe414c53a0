// Which PostgreSQL tests, benchmarks and the demonstration run: that of the folder
// HEADGATE_POSTGRES where that is set, such as /usr/lib/postgresql/17; else the newest that Debian
// installed.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace headgate {

// The folder of its programs. An error says what is missing.
absl::StatusOr<std::string> FindPostgresBin();

// A client program, such as psql, which does for servers of other versions too: that of `bin`, or
// else Debian's.
absl::StatusOr<std::string> FindPostgresClient(const std::string& bin, const std::string& program);

}  // namespace headgate
