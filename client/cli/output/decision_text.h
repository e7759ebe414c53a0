// A decision as check and explain show it.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/throttler_service.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// The verdict, what belongs to it, and a table of the limits that refused or would have.
// `qualified` ends the headline.
std::string DecisionText(const v1::Decision& decision, absl::TimeZone zone, Colours colours,
                         const std::string& qualified = "");

// One row that holds everything; violations are "budget/limit kind", with " (warn)", between ';'.
Table DecisionCsv(const v1::Decision& decision);

}  // namespace headgate::cli
