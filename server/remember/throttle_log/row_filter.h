// Which rows a ScanFilter takes: for stores whose names are apart from their counts, and for rows
// that wait for the store.
//
// Pure functions.
//
//   const std::string path = PathOf("vcopier:vreplication:online-ddl");
//   path == "online-ddl:vreplication:vcopier"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/remember/throttle_log/row.h"
#include "server/remember/throttle_log/store.h"

namespace headgate::throttle_log {

// The identity with its root first, so that whatever is below a level begins with that level's
// path and ":". Its own inverse.
std::string PathOf(std::string_view identity);

// Whether the identity is the selector or stands below it; an empty one takes all.
bool Selects(std::string_view selector, std::string_view identity);

// `from` and `to` are not looked at. The identity is examined for the filter's segment alone.
bool TakesWho(const ScanFilter& filter, std::string_view identity, std::string_view target,
              std::string_view server);
bool TakesWhat(const ScanFilter& filter, Outcome outcome, const Cause& cause);

// All of the filter, of a row that begins at `step_s`.
bool Takes(const ScanFilter& filter, int64_t step_s, const RowKey& key);

}  // namespace headgate::throttle_log
