// The options of agent.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>

#include "client/cli/arguments/agent_arguments.h"

namespace headgate::cli {

CLI::App* AddAgent(CLI::App& app, AgentArguments& agent);

}  // namespace headgate::cli
