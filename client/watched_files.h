// WatchedFiles: what is in some files, looked at again every second at most, when somebody asks.
//
// New content counts once two looks in a row have seen the same, so that a file which is just being
// written is not taken for what it looks like in between. No thread, no waiting.
//
// Thread-compatible.
//
//   WatchedFiles files({ca, certificate, key}, time);
//   if (auto texts = files.News(); texts && Good(*texts)) ...

#ifndef HEADGATE_CLIENT_WATCHED_FILES_H_
#define HEADGATE_CLIENT_WATCHED_FILES_H_

#include <headgate/time_source.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::client::internal {

// All of a regular file of at most 1 MiB. "PATH: why".
absl::StatusOr<std::string> ReadFile(const std::string& path);

class WatchedFiles {
 public:
  using Texts = std::vector<std::string>;

  // Empty paths have empty texts.
  WatchedFiles(std::vector<std::string> paths, std::shared_ptr<TimeSource> time);

  // Now, whatever was told before. InvalidArgument: one cannot be read.
  absl::StatusOr<Texts> Read();
  // What is in them, if it differs from what Read or News told last. Absent while one cannot be
  // read.
  std::optional<Texts> News();

 private:
  absl::StatusOr<Texts> ReadAll() const;

  const std::vector<std::string> paths_;
  const std::shared_ptr<TimeSource> time_;
  absl::Duration looked_at_;
  Texts told_;
  std::optional<Texts> pending_;  // what the last look saw, if that is new
};

}  // namespace headgate::client::internal

#endif  // HEADGATE_CLIENT_WATCHED_FILES_H_
