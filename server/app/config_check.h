// `headgated --check-config`: what is wrong with a file, and what is probably not meant in it,
// instead of serving it.
//
// Blocks while databases are asked, for 2 s at most.

#pragma once

#include <string>

namespace headgate::app {

// Whether a server would take the file, which is said on standard output; what is wrong, and
// warnings, on standard error. With `ask_databases` those that the file names are asked too.
bool CheckConfig(const std::string& path, bool ask_databases);

}  // namespace headgate::app
