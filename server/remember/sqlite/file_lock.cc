#include "server/remember/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace headgate::sqlite {

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  const std::string name = path + ".lock";
  FileLock lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.file_.ok()) {
    const int error = errno;
    const absl::StatusCode code =
        error == EROFS ? absl::StatusCode::kPermissionDenied : absl::ErrnoToStatusCode(error);
    return absl::Status(code, absl::StrCat(path, ": cannot open ", name, ": ", strerror(error),
                                           "; see that its folder exists and can be written"));
  }
  if (flock(lock.file_.number(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) {
    return absl::UnavailableError(absl::StrCat(path, ": flock ", name, ": ", strerror(errno)));
  }
  return absl::AlreadyExistsError(absl::StrCat(
      path, " is used by another headgated; end that one, or give this one a folder of its own"));
}

}  // namespace headgate::sqlite
