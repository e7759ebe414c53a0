// A server's complaint in the words of the command line: it names fields of the API, such as
// check.target, and who typed --target is told of --target.
//
// Pure functions; thread-safe.

#pragma once

#include <string>
#include <string_view>

namespace headgate::cli {

// "check.target: no target 'x' is configured" becomes "--target: no target ...". What begins with
// no field stays as it is.
std::string InTheWordsOfOptions(std::string_view message);

}  // namespace headgate::cli
