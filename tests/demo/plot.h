// The experiment as a picture: throughput and latency of the foreground, speed of the backfill, and
// how much of it Headgate's controller found to be borne, over time, with the phases shaded.
//
// A pure function of the record.
//
//   std::ofstream("headgate-demo.svg") << PlotSvg(experiment.record());
#pragma once

#include <string>

#include "tests/demo/record.h"

namespace headgate::demo {

std::string PlotSvg(const Record& record);

}  // namespace headgate::demo
