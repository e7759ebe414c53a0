// Reading a file whole: a configuration, a certificate, or a secret.
//
// Bounded, and it never waits for a pipe. Thread-safe.
//
//   absl::StatusOr<std::string> text = ReadFileText("/etc/headgate/headgate.yaml");

#ifndef HEADGATE_COMMON_FILE_TEXT_H_
#define HEADGATE_COMMON_FILE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace headgate {

// No more than any such file could ever need, and than memory could bear.
inline constexpr size_t kMaxFileBytes = size_t{16} << 20;

// All of a regular file of at most so many bytes, whole KiB, through symlinks. An error says what
// is wrong without the path: "cannot be read: No such file or directory".
absl::StatusOr<std::string> ReadFileText(const std::string& path, size_t max_bytes = kMaxFileBytes);

}  // namespace headgate

#endif  // HEADGATE_COMMON_FILE_TEXT_H_
