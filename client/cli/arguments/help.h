// How --help reads: lines of 80 columns, examples of each command, and the options that every
// command takes.
//
// For arguments.cc alone, as parsed_option.h is.

#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::cli {

// Broken into lines at blanks, and where there is none behind a '|' or a ','.
std::string Wrapped(std::string_view text, size_t columns);

// Before the commands are added, which take it over.
void FormatHelp(CLI::App& app);
// Once they are: examples and exit statuses, at the end of each command's help.
void AddExamples(CLI::App& app);

// "costs forget" of the command below the program's name; empty: the program itself.
std::string CommandName(const CLI::App& command);
// Of the command of this name, the simplest first; none where there is nothing to say.
std::vector<std::string> ExamplesOf(const std::string& command);

}  // namespace headgate::cli
