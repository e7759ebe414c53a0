// The options of check, explain, run and report: who asks, for what work, and what it cost.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>

#include "client/cli/arguments/arguments.h"

namespace headgate::cli {

// Each makes a command.
CLI::App* AddCheck(CLI::App& app, CheckArguments& check);
CLI::App* AddExplain(CLI::App& app, ExplainArguments& explain);
CLI::App* AddRun(CLI::App& app, RunArguments& run);
CLI::App* AddReport(CLI::App& app, ReportArguments& report);

}  // namespace headgate::cli
