// Which rows a ScanFilter takes, for stores whose names are apart from their counts.
//
// Pure functions.
//
//   const std::string path = PathOf("vcopier:vreplication:online-ddl");
//   path == "online-ddl:vreplication:vcopier"
#pragma once

#include <string>
#include <string_view>

#include "server/throttle_log/row.h"
#include "server/throttle_log/store.h"

namespace headgate::throttle_log {

// The identity with its root first, so that whatever is below a level begins with that level's
// path and ":". Its own inverse.
std::string PathOf(std::string_view identity);

// `from` and `to` are not looked at. The identity is examined for the filter's segment alone.
bool TakesWho(const ScanFilter& filter, std::string_view identity, std::string_view target);
bool TakesWhat(const ScanFilter& filter, Outcome outcome, const Cause& cause);

}  // namespace headgate::throttle_log
