// A file that says which port was picked, for whoever started the server with port 0.

#ifndef HEADGATE_SERVER_APP_PORT_FILE_H_
#define HEADGATE_SERVER_APP_PORT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace headgate::app {

// A reader never sees a half-written port. Unavailable: it cannot be written.
absl::Status WritePort(const std::string& path, int port);

}  // namespace headgate::app

#endif  // HEADGATE_SERVER_APP_PORT_FILE_H_
