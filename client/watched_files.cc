#include "client/watched_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace headgate::client::internal {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Seconds(1);
constexpr size_t kMostBytes = size_t{1} << 20;

absl::Status Wrong(const std::string& path, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::StatusOr<std::string> ReadOpen(const std::string& path, int file) {
  struct stat facts = {};
  if (fstat(file, &facts) != 0) return Wrong(path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return Wrong(path, "is not a regular file");
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t got = read(file, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Wrong(path, std::strerror(errno));
    if (got == 0) return text;
    text.append(bytes, static_cast<size_t>(got));
    if (text.size() > kMostBytes) return Wrong(path, "is larger than 1 MiB");
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  // A pipe that nobody writes to must not hold the caller up.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Wrong(path, std::strerror(errno));
  absl::StatusOr<std::string> text = ReadOpen(path, file);
  close(file);
  return text;
}

WatchedFiles::WatchedFiles(std::vector<std::string> paths, std::shared_ptr<TimeSource> time)
    : paths_(std::move(paths)), time_(std::move(time)), looked_at_(time_->Now()) {}

absl::StatusOr<WatchedFiles::Texts> WatchedFiles::ReadAll() const {
  Texts texts;
  for (const std::string& path : paths_) {
    if (path.empty()) {
      texts.emplace_back();
      continue;
    }
    absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) return text.status();
    texts.push_back(*std::move(text));
  }
  return texts;
}

absl::StatusOr<WatchedFiles::Texts> WatchedFiles::Read() {
  looked_at_ = time_->Now();
  pending_.reset();
  absl::StatusOr<Texts> texts = ReadAll();
  if (texts.ok()) told_ = *texts;
  return texts;
}

std::optional<WatchedFiles::Texts> WatchedFiles::News() {
  const absl::Duration now = time_->Now();
  if (now - looked_at_ < kBetweenLooks) return std::nullopt;
  looked_at_ = now;
  absl::StatusOr<Texts> texts = ReadAll();
  if (!texts.ok() || *texts == told_) {
    pending_.reset();
    return std::nullopt;
  }
  if (pending_ != *texts) {
    pending_ = *std::move(texts);
    return std::nullopt;
  }
  told_ = *std::move(pending_);
  pending_.reset();
  return told_;
}

}  // namespace headgate::client::internal
