// Reading a configuration file, or a secret that it points to.

#ifndef HEADGATE_SERVER_CONFIG_FILE_TEXT_H_
#define HEADGATE_SERVER_CONFIG_FILE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "server/config/yaml_tree.h"

namespace headgate::config {

// All of a regular file of at most so many bytes, whole KiB, through symlinks. An error says what
// is wrong without the path: "cannot be read: No such file or directory". Never waits for a pipe.
absl::StatusOr<std::string> ReadFileText(const std::string& path, size_t max_bytes = kMaxFileBytes);

}  // namespace headgate::config

#endif  // HEADGATE_SERVER_CONFIG_FILE_TEXT_H_
