// Which health profiles have a say on a target: its default one, those of budgets that some rule
// charges there, and those that rules gate Checks by.
//
// Pure function.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace headgate::engine {

struct Policy;

// In the order of the policy, each once; of a target that it does not have, none.
std::vector<std::string> ProfilesInUse(const Policy& policy, std::string_view target,
                                       absl::Time now);

}  // namespace headgate::engine
