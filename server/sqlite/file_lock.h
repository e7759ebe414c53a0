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
#include <utility>

#include "absl/status/statusor.h"

namespace headgate::sqlite {

class FileLock {
 public:
  FileLock() = default;  // of nothing
  ~FileLock();
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  // AlreadyExists: it is taken. NotFound: there is no such folder. PermissionDenied,
  // ResourceExhausted, Unavailable: its file cannot be made.
  static absl::StatusOr<FileLock> Take(const std::string& path);

 private:
  explicit FileLock(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace headgate::sqlite
