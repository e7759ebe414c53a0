// What costs and forgive are asked, parsed and checked.
//
// Plain data; thread-compatible.

#pragma once

#include <string>

#include "client/cli/arguments/override_arguments.h"

namespace headgate::cli {

struct CostsArguments {
  std::string identity;  // empty: of all
  std::string pattern;   // likewise
};

struct ForgetCostsArguments {
  std::string identity;  // one of these two
  std::string pattern;
  ActorArguments who;
};

struct ForgiveArguments {
  std::string identity;
  std::string budget;
  std::string tag_value;  // empty: the budget is not split by a tag
  ActorArguments who;
};

}  // namespace headgate::cli
