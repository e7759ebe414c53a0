#include "server/config/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/config/yaml_tree.h"

namespace headgate::config {
namespace {

absl::Status CannotRead(int error) { return absl::ErrnoToStatus(error, "cannot be read"); }

absl::StatusOr<std::string> ReadAll(int fd) {
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
    if (text.size() > kMaxFileBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("is larger than ", kMaxFileBytes >> 20, " MiB"));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFileText(const std::string& path) {
  // Non-blocking: opening a pipe that nobody writes to would wait.
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return CannotRead(errno);
  absl::StatusOr<std::string> text = ReadAll(fd);
  close(fd);
  return text;
}

}  // namespace headgate::config
