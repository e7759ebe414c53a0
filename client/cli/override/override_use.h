// Before an override is made: whether anybody uses what it is for. A mistyped identity is paused as
// readily as a right one, and the job goes on.
//
// For one thread: it reads the terminal.

#pragma once

#include <headgate/v1/override_service.pb.h>

#include "client/cli/connection/connection.h"
#include "client/cli/output/console.h"

namespace headgate::cli {

enum class Asking { kOnTerminal, kNever };

// Says so where nobody has used the selector in the last hour, and asks if there is somebody to
// ask. Returns whether to go on: a script is told, and not stopped.
bool GoesOnIfUnused(Connection& connection, const v1::CreateOverrideRequest& request, Asking asking,
                    const Console& console);

}  // namespace headgate::cli
