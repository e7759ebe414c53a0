// A server's status as `status` and `top` show it.
//
// Pure functions; thread-safe.

#ifndef HEADGATE_CLIENT_CLI_STATUS_TEXT_H_
#define HEADGATE_CLIENT_CLI_STATUS_TEXT_H_

#include <headgate/v1/status_service.pb.h>

#include <string>

#include "client/cli/table.h"

namespace headgate::cli {

// The configuration in force and why a newer file is not; permits and buckets.
std::string ConfigText(const v1::ConfigStatus& config, Colours colours);

// Where the throttle log is kept, and what keeps it from being complete.
std::string ThrottleLogText(const v1::ThrottleLogStatus& log, Colours colours);
std::string OverridesText(const v1::GetStatusResponse& status, Colours colours);
std::string SnapshotText(const v1::GetStatusResponse& status, Colours colours);
// Until when the server's certificate is good, why newer tokens are not in force, and callers that
// found no room.
std::string TransportText(const v1::GetStatusResponse& status, Colours colours);

// Tables of one target; empty where there is nothing to show.
Table Servers(const v1::TargetStatus& target);
Table Signals(const v1::TargetStatus& target);
Table Profiles(const v1::TargetStatus& target);
Table Controllers(const v1::TargetStatus& target);

// Everything that is known, a row for each thing: its kind says which columns mean what.
Table StatusCsv(const v1::GetStatusResponse& status);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_STATUS_TEXT_H_
