// The options of pause, throttle, exempt, resume and overrides.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/cli/arguments/override_arguments.h"

namespace headgate::cli {

// The command that makes overrides of this kind.
CLI::App* AddOverride(CLI::App& app, v1::OverrideKind kind, OverrideArguments& override);

struct OverridesCommands {
  CLI::App* list = nullptr;
  CLI::App* remove = nullptr;  // below `list`
};
OverridesCommands AddOverrides(CLI::App& app, OverridesArguments& list,
                               DeleteOverrideArguments& remove);

// That a reason is missing, and an example of one.
inline constexpr char kNeedsReason[] = "needs --reason, for whoever asks later";
void AddReason(const ActorArguments& who, const char* example, std::vector<std::string>& missing);

// --reason and --actor, for every command that changes something.
void AddWho(CLI::App& command, ActorArguments& who);

}  // namespace headgate::cli
