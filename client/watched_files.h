// WatchedFiles: what is in some files, looked at again every second at most, when somebody asks.
//
// New content counts at once where the files were left alone for a second before, by the wall
// clock; else once two looks in a row have seen the same (common/settled_files.h). So a file which
// is just being written is not taken for what it looks like in between. No thread, no waiting.
//
// Thread-compatible.
//
//   WatchedFiles files({ca, certificate, key}, time);
//   if (auto texts = files.News(); texts && Good(*texts)) ...

#pragma once

#include <headgate/time_source.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/settled_files.h"

namespace headgate::client::internal {

class WatchedFiles {
 public:
  using Texts = SettledFiles::Texts;

  // Tells the wall clock's time. Null: the system's.
  using WallTime = std::function<absl::Time()>;

  // Empty paths have empty texts.
  WatchedFiles(std::vector<std::string> paths, std::shared_ptr<TimeSource> time,
               WallTime wall = nullptr);

  // Now, whatever was told before. InvalidArgument: one cannot be read.
  absl::StatusOr<Texts> Read();
  // What is in them, if it differs from what Read or News told last. Absent while one cannot be
  // read.
  std::optional<Texts> News();

 private:
  SettledFiles files_;
  const std::shared_ptr<TimeSource> time_;
  const WallTime wall_;
  absl::Duration looked_at_;
  Texts told_;
};

}  // namespace headgate::client::internal
