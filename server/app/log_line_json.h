// A line of the log as members of a JSON object, without its braces.
//
// Strings may hold any bytes: control characters are escaped, and every byte that is not part of
// UTF-8 becomes U+FFFD, so that each line is an object and each object one line. A pure function.
//
//   JsonMembers("stopping", {{"signal", "15"}})  // "event":"stopping","signal":"15"

#pragma once

#include <string>
#include <string_view>

#include "server/app/server_log.h"

namespace headgate::app {

std::string JsonMembers(std::string_view event, LogFields fields);

}  // namespace headgate::app
