// Commands that a person can copy into a shell.
//
// Pure functions; thread-safe.
//
//   ShellLine({"headgate", "pause", "etl", "--reason", "disk full"});
//   // headgate pause etl --reason 'disk full'

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headgate {

// The word, in quotes where a shell would read it as something else.
std::string ShellWord(std::string_view word);
// In quotes in any case.
std::string ShellQuoted(std::string_view word);
std::string ShellLine(const std::vector<std::string>& words);

}  // namespace headgate
