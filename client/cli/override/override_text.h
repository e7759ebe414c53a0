// How overrides read, for a person and in CSV.
//
// Pure functions, but for the zone of the environment; thread-safe.

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <string>

#include "client/cli/output/table.h"

namespace headgate::cli {

// "job:etl", "segment vcopier", "etl on main".
std::string SelectorText(const v1::Selector& selector);
// "override 3 on etl (paused by bob: freeze)".
std::string Mention(const v1::Override& override);

// What was done to these, in one line each.
enum class Change { kMade, kEnded };
std::string ChangesText(const v1::ListOverridesResponse& overrides, Change change);

Table OverridesTable(const v1::ListOverridesResponse& overrides);
Table OverridesCsv(const v1::ListOverridesResponse& overrides);
Table EventsTable(const v1::ListOverrideEventsResponse& events);
Table EventsCsv(const v1::ListOverrideEventsResponse& events);

}  // namespace headgate::cli
