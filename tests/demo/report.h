// The results as text: a table for people and the last line for programs. Pure functions.
//
//   std::cout << Table(results, checks) << LastLine(results) << "\n";
#pragma once

#include <string>

#include "tests/demo/record.h"
#include "tests/demo/results.h"

namespace headgate::demo {

std::string Table(const Results& results, const CheckCounts& checks);

// Why the phases with sessions that yield are left out: a sentence, by the agent's reason.
std::string NothingYields(const std::string& reason);

// "demo: alone_tps=... greedy_ratio=... ..."; of what was left out, "n/a".
std::string LastLine(const Results& results);

}  // namespace headgate::demo
