// Reading a file whole: a configuration, a certificate, or a secret.
//
// Bounded, and it never waits for a pipe. Thread-safe.
//
//   absl::StatusOr<std::string> text = ReadFileText("/etc/headgate/headgate.yaml");

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace headgate {

// No more than any such file could ever need, and than memory could bear.
inline constexpr size_t kMaxFileBytes = size_t{16} << 20;

// Which file this is and when it was last changed, as its file system says.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  int error = 0;  // why there is no such file, from errno

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Through symlinks.
FileIdentity IdentifyFile(const std::string& path);

struct FileRead {
  absl::StatusOr<std::string> text;
  FileIdentity
      identity;  // after the last byte was read: whatever was written before is in its times
};

// All of a regular file of at most so many bytes, whole KiB, through symlinks. An error says what
// is wrong without the path: "cannot be read: No such file or directory".
FileRead ReadFile(const std::string& path, size_t max_bytes = kMaxFileBytes);

inline absl::StatusOr<std::string> ReadFileText(const std::string& path,
                                                size_t max_bytes = kMaxFileBytes) {
  return ReadFile(path, max_bytes).text;
}

}  // namespace headgate
