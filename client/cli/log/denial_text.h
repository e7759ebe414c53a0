// Single denials for a person, as a table and line by line.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

inline constexpr int kDenialsPerPage = 1000;  // the most that a server sends

// Whether the filter takes the denial. ListDenials itself filters by no more than the identity.
bool Matches(const v1::Denial& denial, const v1::LogFilter& filter);

std::string DenialsText(const v1::ListDenialsResponse& denials, absl::TimeZone zone,
                        Colours colours);

// One line without its end.
std::string DenialLine(const v1::Denial& denial, absl::TimeZone zone, Colours colours);

}  // namespace headgate::cli
