#include "client/watched_files.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_replace.h"
#include "common/system_clock.h"

namespace headgate::client::internal {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Seconds(1);
constexpr size_t kMaxBytes = size_t{1} << 20;

}  // namespace

WatchedFiles::WatchedFiles(std::vector<std::string> paths, std::shared_ptr<TimeSource> time,
                           WallTime wall)
    : files_(std::move(paths), kMaxBytes),
      time_(std::move(time)),
      wall_(wall != nullptr ? std::move(wall) : [] { return SystemClock::ReadKernel().wall(); }),
      looked_at_(time_->Now()) {}

absl::StatusOr<WatchedFiles::Texts> WatchedFiles::Read() {
  looked_at_ = time_->Now();
  absl::StatusOr<Texts> texts = files_.Read();
  if (!texts.ok()) {
    return absl::InvalidArgumentError(
        absl::StrReplaceAll(texts.status().message(), {{": cannot be read: ", ": "}}));
  }
  told_ = *std::move(texts);
  return told_;
}

std::optional<WatchedFiles::Texts> WatchedFiles::News() {
  const absl::Duration now = time_->Now();
  if (now - looked_at_ < kBetweenLooks) return std::nullopt;
  looked_at_ = now;
  // A file server's clock that is ahead only costs a second look. One that is behind at worst has a
  // part of a file taken for all of it until the next look.
  const auto contents = files_.Look(wall_() - kBetweenLooks);
  if (!contents.has_value()) return std::nullopt;
  absl::StatusOr<Texts> texts = files_.TextsOf(*contents);
  if (!texts.ok() || *texts == told_) return std::nullopt;
  told_ = *std::move(texts);
  return told_;
}

}  // namespace headgate::client::internal
