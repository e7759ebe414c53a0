// A configuration as its readers may see it: what limits work, without what says how to reach
// servers and who may call.
//
// Pure function; no exception leaves it.
//
//   absl::StatusOr<std::string> yaml = ShownText(config.text);

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace headgate::config {

// YAML that is a valid configuration again, without comments. Connection strings are replaced, as
// they may hold passwords. InvalidArgument: it is no YAML.
absl::StatusOr<std::string> ShownText(std::string_view text);

}  // namespace headgate::config
