// How overrides read, for a person and in CSV.
//
// Pure functions, but for the zone of the environment; thread-safe.

#ifndef HEADGATE_CLIENT_CLI_OVERRIDE_OVERRIDE_TEXT_H_
#define HEADGATE_CLIENT_CLI_OVERRIDE_OVERRIDE_TEXT_H_

#include <headgate/v1/override_service.pb.h>

#include <string>

#include "client/cli/output/table.h"

namespace headgate::cli {

// "job:etl", "segment vcopier", "etl on main".
std::string SelectorText(const v1::Selector& selector);
// "until 2026-01-01 02:00:00 UTC", "until it is deleted".
std::string UntilText(const v1::Override& override);
// "paused", "throttled by 80 %", ...
std::string DoneText(const v1::Override& override);
// "override 3 on etl (paused by bob: freeze)".
std::string Mention(const v1::Override& override);

Table OverridesTable(const v1::ListOverridesResponse& overrides);
Table OverridesCsv(const v1::ListOverridesResponse& overrides);
Table EventsTable(const v1::ListOverrideEventsResponse& events);
Table EventsCsv(const v1::ListOverrideEventsResponse& events);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_OVERRIDE_OVERRIDE_TEXT_H_
