// Where the server's program is, for commands that have it do what only a server can (ADR 7).
//
// A function of the file system, of this program's place and of PATH.

#pragma once

#include <optional>
#include <string>

namespace headgate::cli {

// The headgated beside this program, or else on PATH.
std::optional<std::string> FindServer();

}  // namespace headgate::cli
