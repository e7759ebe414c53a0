#include "common/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace headgate {
namespace {

absl::Status CannotRead(int error) { return absl::ErrnoToStatus(error, "cannot be read"); }

std::string Size(size_t bytes) {
  if (bytes % (size_t{1} << 20) == 0) return absl::StrCat(bytes >> 20, " MiB");
  return absl::StrCat(bytes >> 10, " KiB");
}

FileIdentity IdentityOf(const struct stat& file) {
  const auto nanoseconds = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = file.st_dev,
          .inode = file.st_ino,
          .size = file.st_size,
          .modified_ns = nanoseconds(file.st_mtim),
          .changed_ns = nanoseconds(file.st_ctim)};
}

absl::StatusOr<std::string> ReadAll(int fd, size_t max_bytes) {
  struct stat file = {};
  if (fstat(fd, &file) != 0) return CannotRead(errno);
  if (!S_ISREG(file.st_mode)) return absl::InvalidArgumentError("is not a regular file");
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t bytes = read(fd, buffer, sizeof(buffer));
    if (bytes == 0) return text;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return CannotRead(errno);
    text.append(buffer, static_cast<size_t>(bytes));
    if (text.size() > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("is larger than ", Size(max_bytes)));
    }
  }
}

}  // namespace

FileIdentity IdentifyFile(const std::string& path) {
  struct stat file = {};
  return stat(path.c_str(), &file) == 0 ? IdentityOf(file) : FileIdentity{.error = errno};
}

FileRead ReadFile(const std::string& path, size_t max_bytes) {
  // Non-blocking: opening a pipe that nobody writes to would wait.
  const FileDescriptor opened(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!opened.ok()) {
    const int error = errno;
    return {.text = CannotRead(error), .identity = {.error = error}};
  }
  FileRead read{.text = ReadAll(opened.number(), max_bytes), .identity = {}};
  struct stat file = {};
  read.identity =
      fstat(opened.number(), &file) == 0 ? IdentityOf(file) : FileIdentity{.error = errno};
  return read;
}

}  // namespace headgate
