// Where a target's connection string comes from, read anew at each connect, so that a rotated
// secret takes effect without a restart.
//
// Thread-safe: reads files and the environment, keeps nothing.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/govern/config/config.h"

namespace headgate::app {

// What libpq takes. FailedPrecondition names the file or the variable that cannot be read, says
// why, and never shows what it holds. Files are regular ones of at most 64 KiB: it never waits for
// one.
absl::StatusOr<std::string> ReadConnectionString(const config::PostgresSource& source);

}  // namespace headgate::app
