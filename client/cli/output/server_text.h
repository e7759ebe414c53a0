// What both `status` and `top` show of a server: its configuration, and the health of its targets.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/status_service.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// The configuration in force and why a newer file is not.
std::string ConfigText(const v1::ConfigStatus& config, absl::TimeZone zone, Colours colours);

// "EVERYTHING on main IS PAUSED until ... by ann: disk full (override 7)", a line for each
// emergency stop in force.
std::string StopsText(const v1::OverridesStatus& overrides, absl::TimeZone zone, Colours colours);

// "2.5s ago", "never".
Cell Ago(bool present, const google::protobuf::Duration& age);

// Tables of one target; empty where there is nothing to show.
Table Profiles(const v1::TargetStatus& target);
Table Controllers(const v1::TargetStatus& target);

}  // namespace headgate::cli
