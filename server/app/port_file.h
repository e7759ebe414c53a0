// A file that says which port was picked, for whoever started the server with port 0.

#pragma once

#include <string>

#include "absl/status/status.h"

namespace headgate::app {

// A reader never sees a half-written port. Unavailable: it cannot be written.
absl::Status WritePort(const std::string& path, int port);

}  // namespace headgate::app
