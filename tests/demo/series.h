// The experiment as a table over time, for whoever wants to look closer. A pure function.
//
//   std::ofstream("demo.csv") << SeriesCsv(experiment.record());
#pragma once

#include <string>

#include "tests/demo/record.h"

namespace headgate::demo {

// A line for each tick at which the server was asked, a quarter of a second apart.
std::string SeriesCsv(const Record& record);

}  // namespace headgate::demo
