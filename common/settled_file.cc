#include "common/settled_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <string_view>

#include "common/file_text.h"
#include "common/hash.h"

namespace headgate {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

SettledFile::Identity SettledFile::Stat() const {
  struct stat file = {};
  if (stat(path_.c_str(), &file) != 0) return {.error = errno};
  return {.device = file.st_dev,
          .inode = file.st_ino,
          .size = file.st_size,
          .modified_ns = Nanoseconds(file.st_mtim),
          .changed_ns = Nanoseconds(file.st_ctim)};
}

SettledFile::Fingerprint SettledFile::FingerprintOf(const Content& content) {
  // Nobody gains by a collision: whoever writes the file may write what they like. An error's seed
  // keeps its message apart from a file that says the same.
  constexpr uint64_t kTextSeed = 1;
  constexpr uint64_t kErrorSeed = 2;
  if (content.ok()) return {HashBytes(*content, kTextSeed), content->size()};
  const std::string message = content.status().ToString();
  return {HashBytes(message, kErrorSeed), message.size()};
}

std::optional<SettledFile::Content> SettledFile::Look() {
  const Identity now = Stat();
  const bool same_file = seen_ == now;
  if (same_file && settled_) return std::nullopt;
  Content content = ReadFileText(path_);
  const Fingerprint fingerprint = FingerprintOf(content);
  const bool twice = same_file && pending_ == fingerprint;
  // What keeps a file from being read may pass without a trace in its times.
  settled_ = twice && content.ok();
  seen_ = now;
  pending_ = fingerprint;
  if (!twice || told_ == fingerprint) return std::nullopt;
  told_ = fingerprint;
  return content;
}

}  // namespace headgate
