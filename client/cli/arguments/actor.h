// Who makes a change, as the list of events is to name them.
//
// Pure functions, but for the environment; thread-safe.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/arguments/override_arguments.h"

namespace headgate::cli {

// As --actor or HEADGATE_ACTOR says; else user@host.
absl::StatusOr<std::string> ActorOf(const ActorArguments& who);

// The error again; one that is about the actor says what to do.
absl::Status WithActorHelp(const absl::Status& status);

}  // namespace headgate::cli
