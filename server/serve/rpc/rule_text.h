// Which Checks a rule of the configuration is for, and what it does, in words.
//
// Pure functions.
//
//   MatchText(rule.match)    // "backfill and what is below it; on target orders; mon to fri 22:00
//   to 06:00 UTC" ActionText(rule.action)  // "charges backfills, per-job"

#pragma once

#include <string>

#include "server/decide/engine/spec.h"

namespace headgate::rpc {

// Empty: all.
std::string MatchText(const engine::MatchSpec& match);
std::string ActionText(const engine::ActionSpec& action);

}  // namespace headgate::rpc
