// The options of agent.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "client/cli/arguments/agent_arguments.h"

namespace headgate::cli {

// What is missing once everything is parsed, as a line; empty: nothing.
std::string MissingIn(const AgentArguments& agent);

CLI::App* AddAgent(CLI::App& app, AgentArguments& agent);

}  // namespace headgate::cli
