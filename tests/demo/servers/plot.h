// Several servers as a picture: for each database what was admitted against what was due, over
// time, and the colour of whoever decided for it; and what befell the servers.
//
// A pure function of the record.
//
//   std::ofstream("headgate-servers.svg") << PlotServers(script.record());
#pragma once

#include <string>

#include "tests/demo/servers/record.h"

namespace headgate::demo {

std::string PlotServers(const ServersRecord& record);

}  // namespace headgate::demo
