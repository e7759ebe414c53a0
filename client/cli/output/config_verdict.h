// What is wrong with a configuration file, as `config check` and `replay` print it.

#pragma once

#include <string>
#include <vector>

#include "client/cli/output/console.h"

namespace headgate::cli {

// Without errors the file is good.
void PrintVerdict(const std::string& file, const std::vector<std::string>& errors,
                  const std::vector<std::string>& warnings, const Console& console);

}  // namespace headgate::cli
