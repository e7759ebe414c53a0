// An explanation as CSV: a row for each bucket, then one for each rule or health gate that denies
// and is no bucket's; one row where there are neither, so that the verdict is always there.
//
// Pure function; thread-safe.

#pragma once

#include <headgate/v1/throttler_service.pb.h>

#include "client/cli/output/table.h"

namespace headgate::cli {

Table ExplanationCsv(const v1::ExplainResponse& explanation);

}  // namespace headgate::cli
