// The output of EXPLAIN (VERBOSE, FORMAT JSON), read.
//
// It comes from the database, so nothing is taken for granted: InvalidArgument for what is no such
// output. A statement that rules rewrite into several has several plans; their costs are added up.
//
// Pure function.

#pragma once

#include <headgate/pqxx.h>

#include <string_view>

#include "absl/status/statusor.h"

namespace headgate::client::internal {

absl::StatusOr<StatementPlan> ParsePlan(std::string_view json);

}  // namespace headgate::client::internal
