#include "server/remember/snapshot/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace headgate::snapshot {
namespace {

// So many files may be set aside.
constexpr int kMaxRefused = 10;
// Larger than any engine's: 2^32 bytes.
constexpr off_t kMaxBytes = off_t{1} << 32;

FileDescriptor OpenFile(const std::string& path, int flags) {
  return FileDescriptor(open(path.c_str(), flags | O_CLOEXEC, 0600));
}

absl::Status Failed(const char* what, const std::string& path) {
  const int error = errno;
  const std::string text = absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    case EROFS:
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    case ENOENT:
      return absl::NotFoundError(text);
    default:
      return absl::UnavailableError(text);
  }
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// False: the system says why. Fewer bytes: the file has become shorter, which Decode will say.
bool ReadUpTo(int fd, size_t size, std::string& bytes) {
  size_t have = bytes.size();
  bytes.resize(size);
  while (have < size) {
    const ssize_t got = read(fd, bytes.data() + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return true;
}

absl::Status WriteDraft(const std::string& draft, std::string_view bytes) {
  // What somebody else put there is neither written to nor followed, and its mode not inherited.
  if (unlink(draft.c_str()) != 0 && errno != ENOENT) return Failed("remove", draft);
  FileDescriptor file = OpenFile(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!file.ok()) return Failed("create", draft);
  if (!WriteAll(file.number(), bytes)) return Failed("write", draft);
  if (fsync(file.number()) != 0) return Failed("flush", draft);
  // What was written may turn out not to fit only now.
  if (close(file.Release()) != 0) return Failed("close", draft);
  return absl::OkStatus();
}

// So that the new name is on disk as well.
absl::Status FlushFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const FileDescriptor file = OpenFile(folder, O_RDONLY | O_DIRECTORY);
  if (!file.ok() || fsync(file.number()) != 0) return Failed("flush", folder);
  return absl::OkStatus();
}

}  // namespace

absl::Status Replace(const std::string& path, std::string_view bytes) {
  const std::string draft = absl::StrCat(path, ".new");
  absl::Status status = WriteDraft(draft, bytes);
  if (status.ok() && std::rename(draft.c_str(), path.c_str()) != 0) {
    status = Failed("replace", path);
  }
  if (!status.ok()) {
    unlink(draft.c_str());  // its room may be what others need
    return status;
  }
  return FlushFolder(path);
}

absl::StatusOr<std::string> Read(const std::string& path) {
  const FileDescriptor file = OpenFile(path, O_RDONLY | O_NONBLOCK);  // else a pipe is waited for
  struct stat about = {};
  if (!file.ok() || fstat(file.number(), &about) != 0) return Failed("read", path);
  if (!S_ISREG(about.st_mode) || about.st_size > kMaxBytes) {
    return absl::DataLossError("is no file, or larger than any snapshot");
  }
  const auto size = static_cast<size_t>(about.st_size);
  std::string bytes;
  if (!ReadUpTo(file.number(), std::min(size, kHeaderBytes), bytes)) return Failed("read", path);
  if (absl::Status begins = CheckHeader(bytes, size); !begins.ok()) return begins;
  if (!ReadUpTo(file.number(), size, bytes)) return Failed("read", path);
  return bytes;
}

std::optional<FileId> Identify(const std::string& path) {
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0) return std::nullopt;
  return FileId{.device = about.st_dev, .inode = about.st_ino, .bytes = about.st_size};
}

absl::StatusOr<std::string> SetAside(const std::string& path) {
  const std::string first = absl::StrCat(path, ".refused");
  std::string aside = first;
  for (int i = 1; Identify(aside).has_value(); ++i) {
    if (i == kMaxRefused) {
      return absl::AlreadyExistsError(
          absl::StrCat("cannot set aside ", path, ": ", first, " and ", first, ".1 to .",
                       kMaxRefused - 1, " are there already; remove what nobody needs of them"));
    }
    aside = absl::StrCat(first, ".", i);
  }
  if (std::rename(path.c_str(), aside.c_str()) != 0) return Failed("set aside", path);
  return aside;
}

BootId ReadBootId() {
  // "d2b0a3f2-....": 32 digits, and dashes.
  BootId boot = {};
  const FileDescriptor file = OpenFile("/proc/sys/kernel/random/boot_id", O_RDONLY);
  char text[64] = {};
  if (!file.ok() || read(file.number(), text, sizeof(text) - 1) < 36) return boot;
  size_t digits = 0;
  for (const char* at = text; *at != '\0' && digits < 2 * boot.size(); ++at) {
    const char digit = static_cast<char>(*at | 0x20);
    const bool is_number = digit >= '0' && digit <= '9';
    if (!is_number && (digit < 'a' || digit > 'f')) continue;
    const int value = is_number ? digit - '0' : digit - 'a' + 10;
    boot[digits / 2] = static_cast<uint8_t>(boot[digits / 2] << 4 | value);
    ++digits;
  }
  return digits == 2 * boot.size() ? boot : BootId{};
}

}  // namespace headgate::snapshot
