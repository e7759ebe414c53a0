// How learnt costs read, as a table and in CSV.
//
// Pure functions; thread-safe.

#pragma once

#include <google/protobuf/repeated_ptr_field.h>
#include <headgate/v1/cost_service.pb.h>

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

using LearntCosts = google::protobuf::RepeatedPtrField<v1::LearntCost>;

std::string CostsText(const LearntCosts& costs, absl::TimeZone zone, Colours colours,
                      std::string_view indent = "");
Table CostsCsv(const LearntCosts& costs);

}  // namespace headgate::cli
