// The options of members, move, drain and undrain.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>

#include "client/cli/arguments/cluster_arguments.h"

namespace headgate::cli {

CLI::App* AddMembers(CLI::App& app);
CLI::App* AddMove(CLI::App& app, MoveArguments& move);
// Of `drain.action`.
CLI::App* AddDrain(CLI::App& app, DrainArguments& drain);

}  // namespace headgate::cli
