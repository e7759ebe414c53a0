// Waits as a text, for a store that keeps them in one column: numbers apart by spaces, in the order
// of the structure's fields, times in microseconds. Most are small or 0, so this is shorter than
// columns of their own, and rows without waits pay nothing.
//
// Numbers of a later Headgate may follow, and are left out. Pure functions.
//
//   ParseWaits(WaitsText(waits)) == waits, to the microsecond

#pragma once

#include <string>
#include <string_view>

#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

std::string WaitsText(const Waits& waits);
// Fields that the text lacks are 0.
Waits ParseWaits(std::string_view text);

}  // namespace headgate::throttle_log
