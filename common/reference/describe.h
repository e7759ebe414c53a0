// A program's commands and options, out of CLI11's definitions. Hidden ones are left out.
//
// The words that a value may be are known where the definition has them: in its type,
// "table|json|csv"; in its list, CLI::IsMember; or in its help, as "allowed|denied" or in
// backticks.
//
// A pure function; thread-safe.
//
//   Program program{.root = Describe(app), .version = "0.1.0"};

#pragma once

#include <CLI/CLI.hpp>

#include "common/reference/program.h"

namespace headgate::reference {

Command Describe(const CLI::App& app);

}  // namespace headgate::reference
