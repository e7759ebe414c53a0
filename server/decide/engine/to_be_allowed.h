// What would have to change for a Check to be allowed, in sentences for a person.
//
// A sentence promises no more than is known: where a limit has to wait for a permit, for health or
// for a controller, it says so and not when.
//
// Pure functions; thread-safe.
//
//   for (const std::string& sentence : WhatWouldHelp(explanation)) response.add_to_be_allowed(...);

#pragma once

#include <string>
#include <vector>

#include "server/decide/engine/answer.h"

namespace headgate::engine {

// One for each violation that denies, in their order, then one for each budget that nobody asked
// and that has no room either; all of them have to be met. Empty where the Check is allowed.
std::vector<std::string> WhatWouldHelp(const Explanation& explanation);

}  // namespace headgate::engine
