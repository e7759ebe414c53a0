// Text as URLs have it: %2F is a slash.
//
// A pure function.
//
//   std::optional<std::string> part = DecodeUrl("%2Forders");  // "/orders"
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate {

// None: there is a '%' without two hexadecimal digits.
std::optional<std::string> DecodeUrl(std::string_view text);

}  // namespace headgate
