// How overrides read, for a person and in CSV.
//
// Pure functions, but for the zone of the environment; thread-safe.

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <string>

#include "client/cli/output/table.h"

namespace headgate::cli {

// "job:etl", "segment vcopier", "etl on main", "everything".
std::string SelectorText(const v1::Selector& selector);
// "override 3 on etl (paused by bob: freeze)".
std::string Mention(const v1::Override& override);

// What was done to these, in one line each.
enum class Change { kMade, kEnded };
std::string ChangesText(const v1::ListOverridesResponse& overrides, Change change);

// Whom an emergency stop does not stop, and how it is ended, in a line each. Empty: it is no stop.
std::string StopText(const v1::CreateOverrideResponse& made);

// Which of several servers do not know of it yet, in a line. Empty: all do.
std::string NotReachedText(const google::protobuf::RepeatedPtrField<std::string>& servers);

Table OverridesTable(const v1::ListOverridesResponse& overrides);
Table OverridesCsv(const v1::ListOverridesResponse& overrides);
Table EventsTable(const v1::ListOverrideEventsResponse& events);
Table EventsCsv(const v1::ListOverrideEventsResponse& events);

}  // namespace headgate::cli
