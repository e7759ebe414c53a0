// Whether a PostgreSQL connection string is one, and keeps its secrets elsewhere. Pure functions.

#ifndef HEADGATE_SERVER_CONFIG_DSN_H_
#define HEADGATE_SERVER_CONFIG_DSN_H_

#include <string_view>

#include "absl/status/status.h"

namespace headgate::config {

// InvalidArgument if it holds a password, or is neither a URI nor key=value pairs as libpq takes
// them. The message shows nothing of the string.
absl::Status CheckDsn(std::string_view dsn);

}  // namespace headgate::config

#endif  // HEADGATE_SERVER_CONFIG_DSN_H_
