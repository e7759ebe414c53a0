// SettledFiles: tells when one file, or several that belong together, have new content; one look at
// a time.
//
// A look is a stat through all symlinks, and nothing else while each file stays the same one with
// the same size and times. Content counts as new once two looks in a row have seen the same files
// with the same bytes, and these are not what was told before. Hence:
// - swapping a symlink, as Kubernetes does, renaming over a file and writing in place are seen;
// - a file that somebody is just writing, has emptied to rewrite it, or has taken away for a moment
//   is not taken for what it looks like in between;
// - touching a file, or saving it unchanged, tells nothing;
// - two writes within one tick of the file system's clock are not mistaken for one, since the
//   second look comes after that tick;
// - a file that cannot be read is tried again at every look, and each reason is told once.
//
// A caller whose looks are far apart may say which files need no second look: those that have been
// left alone for long enough.
//
// Thread-compatible. It does not wait: whoever calls decides how far apart looks are.
//
//   SettledFiles file({"/etc/headgate/headgate.yaml"});
//   if (auto news = file.Look()) Reload(news->front());

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_text.h"

namespace headgate {

class SettledFiles {
 public:
  // What is in a file, or why it cannot be read.
  using Content = absl::StatusOr<std::string>;
  using Contents = std::vector<Content>;  // of each file, in the order of the paths
  using Texts = std::vector<std::string>;

  // An empty path has an empty text.
  explicit SettledFiles(std::vector<std::string> paths, size_t max_bytes = kMaxFileBytes)
      : paths_(std::move(paths)), max_bytes_(max_bytes) {}

  // The content of all, if any of it is new; the first that settles is. Files that can be read, and
  // were not changed after `untouched_since` by their file system's clock, settle at the first
  // look.
  std::optional<Contents> Look(absl::Time untouched_since = absl::InfinitePast());

  // What is in them now, settled or not. Does not count as told.
  absl::StatusOr<Texts> Read() const;
  // The texts; InvalidArgument, "PATH: why", for the first file that cannot be read.
  absl::StatusOr<Texts> TextsOf(const Contents& contents) const;

 private:
  using Fingerprint = std::pair<uint64_t, uint64_t>;

  static Fingerprint FingerprintOf(const Content& content);
  // Empty paths have the identity of no file.
  FileRead ReadOne(const std::string& path) const;
  bool AreAsSeen() const;

  std::vector<std::string> paths_;
  size_t max_bytes_;
  // What the last look has seen.
  std::vector<FileIdentity> identities_;
  std::vector<Fingerprint> pending_;
  bool settled_ = false;  // that was seen twice, without an error
  std::vector<Fingerprint> told_;
};

}  // namespace headgate
