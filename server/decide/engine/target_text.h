// What is said of a target that is not there, or that nobody has named: which ones there are.
//
// Pure; thread-safe.
//
//   NotFoundError(absl::StrCat("target: ", NoTargetText("order", {"orders", "billing"})))
#pragma once

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace headgate::engine {

// "no target 'order' is configured; did you mean 'orders'?", or which ones there are.
std::string NoTargetText(std::string_view name, absl::Span<const std::string> known);

// "must be named, since several are configured: billing, orders"
std::string UnnamedTargetText(absl::Span<const std::string> known);

}  // namespace headgate::engine
