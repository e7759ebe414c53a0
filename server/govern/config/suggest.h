// What is said of a name in a file that is not known. Pure functions.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headgate::config {

// By NearestWord: "; did you mean 'rate'?", else "; known are a, b and c", else, if nothing is
// known, empty.
std::string Suggestion(std::string_view name, const std::vector<std::string>& known);

// "a, b or c".
std::string Alternatives(const std::vector<std::string>& names);

// Text from a file for a message: one line, printable, of bounded length, in single quotes.
std::string Quoted(std::string_view text);

}  // namespace headgate::config
