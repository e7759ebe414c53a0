// How learnt costs read, as a table and in CSV.
//
// Pure functions, but for the zone of the environment; thread-safe.

#pragma once

#include <google/protobuf/repeated_ptr_field.h>
#include <headgate/v1/cost_service.pb.h>

#include "client/cli/output/table.h"

namespace headgate::cli {

using LearntCosts = google::protobuf::RepeatedPtrField<v1::LearntCost>;

Table CostsTable(const LearntCosts& costs);
Table CostsCsv(const LearntCosts& costs);

}  // namespace headgate::cli
