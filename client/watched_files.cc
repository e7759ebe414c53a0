#include "client/watched_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"

namespace headgate::client::internal {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Seconds(1);
constexpr size_t kMaxBytes = size_t{1} << 20;

absl::Status Wrong(const std::string& path, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

struct Content {
  std::string text;
  absl::Time changed_at;
};

absl::StatusOr<Content> ReadOpen(const std::string& path, int file) {
  struct stat facts = {};
  if (fstat(file, &facts) != 0) return Wrong(path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return Wrong(path, "is not a regular file");
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t got = read(file, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Wrong(path, std::strerror(errno));
    if (got == 0) break;
    text.append(bytes, static_cast<size_t>(got));
    if (text.size() > kMaxBytes) return Wrong(path, "is larger than 1 MiB");
  }
  // Afterwards, so that whatever was written up to the last read is in these times. Who copies a
  // file may set one of them back, never the other.
  if (fstat(file, &facts) != 0) return Wrong(path, std::strerror(errno));
  return Content{.text = std::move(text),
                 .changed_at = std::max(absl::TimeFromTimespec(facts.st_mtim),
                                        absl::TimeFromTimespec(facts.st_ctim))};
}

// All of a regular file of at most 1 MiB. "PATH: why".
absl::StatusOr<Content> ReadFile(const std::string& path) {
  // A pipe that nobody writes to must not hold the caller up.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Wrong(path, std::strerror(errno));
  absl::StatusOr<Content> content = ReadOpen(path, file);
  close(file);
  return content;
}

}  // namespace

WatchedFiles::WatchedFiles(std::vector<std::string> paths, std::shared_ptr<TimeSource> time,
                           WallTime wall)
    : paths_(std::move(paths)),
      time_(std::move(time)),
      wall_(wall != nullptr ? std::move(wall) : [] { return SystemClock::ReadKernel().wall(); }),
      looked_at_(time_->Now()) {}

absl::StatusOr<WatchedFiles::Look> WatchedFiles::ReadAll() const {
  Look look;
  for (const std::string& path : paths_) {
    if (path.empty()) {
      look.texts.emplace_back();
      continue;
    }
    absl::StatusOr<Content> content = ReadFile(path);
    if (!content.ok()) return content.status();
    look.changed_at = std::max(look.changed_at, content->changed_at);
    look.texts.push_back(std::move(content->text));
  }
  return look;
}

// No where the file's clock is ahead of this one. One that is behind, as a file server's may be, at
// worst takes a part of a file for all of it until the next look.
bool WatchedFiles::LeftAloneSince(absl::Time changed_at) const {
  return wall_() - changed_at >= kBetweenLooks;
}

absl::StatusOr<WatchedFiles::Texts> WatchedFiles::Read() {
  looked_at_ = time_->Now();
  pending_.reset();
  absl::StatusOr<Look> look = ReadAll();
  if (!look.ok()) return look.status();
  told_ = std::move(look->texts);
  return told_;
}

std::optional<WatchedFiles::Texts> WatchedFiles::News() {
  const absl::Duration now = time_->Now();
  if (now - looked_at_ < kBetweenLooks) return std::nullopt;
  looked_at_ = now;
  absl::StatusOr<Look> look = ReadAll();
  if (!look.ok() || look->texts == told_) {
    pending_.reset();
    return std::nullopt;
  }
  if (pending_ != look->texts && !LeftAloneSince(look->changed_at)) {
    pending_ = std::move(look->texts);
    return std::nullopt;
  }
  told_ = std::move(look->texts);
  pending_.reset();
  return told_;
}

}  // namespace headgate::client::internal
