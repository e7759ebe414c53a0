// Changes of sessions as lines for people: one for each, or one for all where there are many at
// once.
//
// Pure function; thread-safe.
//
//   for (const std::string& line : TextOf(changes)) log(line);
#pragma once

#include <string>
#include <vector>

#include "client/agent/yielder.h"

namespace headgate::agent {

// More of one kind are one line.
inline constexpr size_t kMostLinesOfAKind = 4;

std::vector<std::string> TextOf(const std::vector<Yielder::Change>& changes);

}  // namespace headgate::agent
