// A line of the log for people: the event, and key=value of each field.
//
// Quoted where it has spaces or anything that needs an escape. What a terminal would obey is
// escaped, as the command line does, so a caller's words cannot end or reorder a line. A pure
// function; thread-safe.
//
//   TextLine("refused", {{"who", "a\nb"}})  // refused who="a\nb"

#pragma once

#include <string>
#include <string_view>

#include "server/app/server_log.h"

namespace headgate::app {

std::string TextLine(std::string_view event, LogFields fields);

}  // namespace headgate::app
