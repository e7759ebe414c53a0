// Who waits in the server for their turn, as `status` and `top` show it.
//
// Pure functions; thread-safe.

#pragma once

#include <google/protobuf/repeated_ptr_field.h>
#include <headgate/v1/status_service.pb.h>

#include <string>

#include "client/cli/output/table.h"

namespace headgate::cli {

// "budget rows, bucket etl", "the gate of health profile standbys", "rule pause-7".
std::string WaitsFor(const v1::LineStatus& line);

// How many wait, how many may, and who was not let in; empty where nobody ever waited, and from a
// server that lets nobody wait.
std::string WaitingText(const v1::GetStatusResponse& status, Colours colours);

// When the turn comes: "3s", "now", "unknown".
std::string TurnIn(bool known, const google::protobuf::Duration& turn);

// Each line with those who are next in it.
Table Lines(const google::protobuf::RepeatedPtrField<v1::LineStatus>& lines);

}  // namespace headgate::cli
