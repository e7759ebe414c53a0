// Several servers that share their targets, for a person and in CSV.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/cluster_service.pb.h>

#include <string>

#include "client/cli/output/table.h"

namespace headgate::cli {

// Who is here and who decides for what, and what is wrong with it.
std::string ServersText(const v1::ClusterStatus& cluster, Colours colours);

// A row for each server and each target: its kind says which columns mean what.
Table ServersCsv(const v1::ClusterStatus& cluster);

}  // namespace headgate::cli
