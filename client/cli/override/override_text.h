// How overrides read, for a person and in CSV.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// What was made, whom an emergency stop does not stop, and the command that ends it, in a line
// each. `connection` is as Globals::connection has it.
std::string MadeText(const v1::CreateOverrideResponse& made, absl::TimeZone zone,
                     const std::string& connection);
// A line for each.
std::string EndedText(const v1::ListOverridesResponse& overrides);

// Which of several servers do not know of it yet, in a line. Empty: all do.
std::string NotReachedText(const google::protobuf::RepeatedPtrField<std::string>& servers);

std::string OverridesText(const v1::ListOverridesResponse& overrides, absl::TimeZone zone,
                          Colours colours);
Table OverridesCsv(const v1::ListOverridesResponse& overrides);
std::string EventsText(const v1::ListOverrideEventsResponse& events, absl::TimeZone zone,
                       Colours colours);
Table EventsCsv(const v1::ListOverrideEventsResponse& events);

}  // namespace headgate::cli
