// FileLock: keeps a file to one process, for as long as it lives.
//
// It is a flock on PATH.lock, which the kernel drops when the process ends, however it ends. The
// empty file stays. Locking the same path twice in one process fails as well.
//
// Thread-compatible.
//
//   absl::StatusOr<FileLock> lock = FileLock::Take("/var/lib/headgate/log.db");
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

namespace headgate::sqlite {

class FileLock {
 public:
  FileLock() = default;  // of nothing

  // AlreadyExists: it is taken. NotFound: there is no such folder. PermissionDenied,
  // ResourceExhausted, Unavailable: its file cannot be made.
  static absl::StatusOr<FileLock> Take(const std::string& path);

 private:
  explicit FileLock(int file) : file_(file) {}

  FileDescriptor file_;
};

}  // namespace headgate::sqlite
