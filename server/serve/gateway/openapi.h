// openapi.json, as it was when this was built: CMake makes it into a text.

#pragma once

#include <string_view>

namespace headgate::gateway {

std::string_view OpenApi();

}  // namespace headgate::gateway
