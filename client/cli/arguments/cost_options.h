// The options of costs, costs forget and forgive.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>

#include "client/cli/arguments/cost_arguments.h"

namespace headgate::cli {

struct CostsCommands {
  CLI::App* list = nullptr;
  CLI::App* forget = nullptr;  // below `list`
};
CostsCommands AddCosts(CLI::App& app, CostsArguments& list, ForgetCostsArguments& forget);

CLI::App* AddForgive(CLI::App& app, ForgiveArguments& forgive);

}  // namespace headgate::cli
