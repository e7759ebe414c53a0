// The options of log and replay.
//
// For arguments.cc alone, as parsed_option.h is.

#ifndef HEADGATE_CLIENT_CLI_LOG_OPTIONS_H_
#define HEADGATE_CLIENT_CLI_LOG_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/cli/log_arguments.h"

namespace headgate::cli {

CLI::App* AddLog(CLI::App& app, LogArguments& log);
CLI::App* AddReplay(CLI::App& app, ReplayArguments& replay);

// The words with a number behind each --top and --denials, which may stand without. CLI11 would
// take the next word for it, whatever that is.
std::vector<std::string> WithNumbers(std::vector<std::string> words);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_LOG_OPTIONS_H_
