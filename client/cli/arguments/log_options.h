// The options of log and replay, and what those of overrides share with them.
//
// For arguments.cc and override_options.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/cli/arguments/log_arguments.h"

namespace headgate::cli {

CLI::App* AddLog(CLI::App& app, LogArguments& log);
CLI::App* AddReplay(CLI::App& app, ReplayArguments& replay);

// An option that is a time as TimeFromText takes it: which one depends on the clock.
void AddTime(CLI::App& app, const std::string& name, std::string& value, const std::string& help);

// The words with a number behind each --top and --denials, which may stand without. CLI11 would
// take the next word for it, whatever that is.
std::vector<std::string> WithNumbers(std::vector<std::string> words);

}  // namespace headgate::cli
