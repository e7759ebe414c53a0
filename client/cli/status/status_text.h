// A server's status, for a person and in CSV.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/status_service.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// All of it, for a person.
std::string StatusText(const v1::GetStatusResponse& status, const std::string& address,
                       absl::TimeZone zone, Colours colours);

// The same for programs, a row for each thing: its kind says which columns mean what.
Table StatusCsv(const v1::GetStatusResponse& status);

}  // namespace headgate::cli
