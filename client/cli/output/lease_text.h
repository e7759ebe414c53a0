// Who holds leases, as `leases`, `status`, `top` and `explain` show it.
//
// Pure functions; thread-safe.

#pragma once

#include <google/protobuf/repeated_ptr_field.h>
#include <headgate/v1/status_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <string>
#include <string_view>

#include "client/cli/output/table.h"

namespace headgate::cli {

using LeaseHolders = google::protobuf::RepeatedPtrField<v1::LeaseHolder>;

// "2 leases of 900", of those whose time is not over; empty where there are none.
std::string HeldText(const v1::LeaseHolder& holder);

// A line that begins with the indent; empty where the target has no leases.
std::string LeasesText(const v1::TargetStatus& target, Colours colours, std::string_view indent);

// "it holds 2 leases of 900 together, the last of which ends in 400ms": a line; empty where it
// holds none.
std::string LeasesText(const v1::ExplainResponse& explanation, Colours colours);

// A row for each holder, who holds most first.
Table Holders(const LeaseHolders& holders);
// A row for each lease of these holders that the answer has.
Table HeldLeases(const LeaseHolders& holders);
// Both, for a program: the first column tells them apart.
Table LeasesCsv(const LeaseHolders& holders);

}  // namespace headgate::cli
