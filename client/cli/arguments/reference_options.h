// completion, and a hidden command that prints the manual page: both are made of the definitions of
// all options.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace headgate::cli {

// `form` becomes what was asked for, as ReferenceIn has it; it stays empty where neither was.
void AddReference(CLI::App& app, std::string& form);

std::string ReferenceText(const CLI::App& app, const std::string& form);

// What --help says of exit statuses.
std::string ExitStatusText();

}  // namespace headgate::cli
