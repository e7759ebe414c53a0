// `headgated --store-tables=init|upgrade|ensure|check`: what `headgate store` has this program do
// with the store's tables (docs/cluster.md), instead of serving.
//
// Blocks while the databases answer. A function of its arguments and of what the databases say.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"

namespace headgate::app {

struct StoreCommand {
  std::string action;  // init, upgrade, ensure (whichever of the two it takes) or check
  std::string dsn;     // of the store
  // Whose targets must not be the store; empty: no configuration is looked at.
  std::string config_path;
};

struct StoreAnswer {
  std::string said;
  std::vector<std::string> warnings;  // such as that a target could not be asked
};

// InvalidArgument: the connection string or the configuration cannot be read.
absl::StatusOr<StoreAnswer> RunStoreCommand(const StoreCommand& command, Clock& clock);

}  // namespace headgate::app
