#include "client/scheduling/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace headgate::scheduling {

std::optional<std::string> ReadSmallFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return std::nullopt;
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
  }
}

absl::Status WriteSmallFile(const std::string& path, const std::string& text) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.ok()) return StatusOfErrno(errno, path);
  if (write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return StatusOfErrno(errno, path);
}

absl::Status StatusOfErrno(int error, const std::string& what) {
  const std::string text = absl::StrCat(what, ": ", std::generic_category().message(error));
  switch (error) {
    case ESRCH:
    case ENOENT:
      return absl::NotFoundError(text);
    case EPERM:
    case EACCES:
    case EROFS:
      return absl::PermissionDeniedError(text);
    case EAGAIN:
      return absl::UnavailableError(text);
    default:
      return absl::FailedPreconditionError(text);
  }
}

}  // namespace headgate::scheduling
