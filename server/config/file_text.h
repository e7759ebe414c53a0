// Reading a configuration file.

#ifndef HEADGATE_SERVER_CONFIG_FILE_TEXT_H_
#define HEADGATE_SERVER_CONFIG_FILE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"

namespace headgate::config {

// All of a regular file of at most kMaxFileBytes, through symlinks. An error says what is wrong
// without the path: "cannot be read: No such file or directory". Never waits for a pipe.
absl::StatusOr<std::string> ReadFileText(const std::string& path);

}  // namespace headgate::config

#endif  // HEADGATE_SERVER_CONFIG_FILE_TEXT_H_
