// What members, move, drain and undrain are asked, parsed and checked.
//
// Plain data; thread-compatible.

#pragma once

#include <string>

#include "client/cli/arguments/override_arguments.h"

namespace headgate::cli {

struct MembersArguments {};

struct MoveArguments {
  std::string target;
  std::string member;  // empty: wherever it would be
  ActorArguments who;
};

struct DrainArguments {
  enum class Action { kDrain, kUndrain } action = Action::kDrain;
  std::string member = {};
  ActorArguments who = {};
};

}  // namespace headgate::cli
