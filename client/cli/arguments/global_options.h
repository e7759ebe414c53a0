// The options that stand before or after any command: the server and how to reach it, and what the
// output looks like.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "client/cli/arguments/arguments.h"

namespace headgate::cli {

void AddGlobals(CLI::App& app, Globals& globals);
// Globals::connection, once the options are parsed.
std::string ConnectionOf(const CLI::App& app);

}  // namespace headgate::cli
