// Overrides as the engine's rules.
//
// Pure functions.

#pragma once

#include <string>

#include "server/decide/engine/spec.h"
#include "server/remember/overrides/override.h"

namespace headgate::overrides {

// As answers and logs show it: "override 7: paused by alice (stuck shard)", "override 8: everything
// on main paused by bob (disk full)". A long reason is cut.
std::string RuleName(const Override& override);

engine::RuleSpec RuleOf(const Override& override);

// Whether there is a target that both hold on.
bool Overlap(const Selector& a, const Selector& b);

// Whether a policy knows the target of a selector. An override that is on another one waits until
// it is configured again.
bool KnowsTarget(const engine::PolicySpec& spec, const Selector& selector);

}  // namespace headgate::overrides
