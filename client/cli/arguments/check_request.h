// What the arguments say of a piece of work, as the API and the SDK take it.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/check.h>
#include <headgate/v1/throttler_service.pb.h>

#include "client/cli/arguments/arguments.h"

namespace headgate::cli {

v1::CheckRequest ToProto(const Globals& globals, const WorkArguments& work);
client::CheckRequest ToSdk(const Globals& globals, const WorkArguments& work);

}  // namespace headgate::cli
