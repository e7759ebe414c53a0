// Tells when a file has new content, one look at a time.
//
// A look is a stat through all symlinks, and nothing else while the file stays the same one with
// the same size and times. Content counts as new once two looks in a row have seen the same file
// with the same bytes, and these are not what was told before. Hence:
// - swapping a symlink, as Kubernetes does, renaming over the file and writing in place are seen;
// - a file that somebody is just writing, has emptied to rewrite it, or has taken away for a moment
//   is not taken for what it looks like in between;
// - touching a file, or saving it unchanged, tells nothing;
// - two writes within one tick of the file system's clock are not mistaken for one, since the
//   second look comes after that tick;
// - a file that cannot be read is tried again at every look, and each reason is told once.
//
// Thread-compatible. It does not wait: whoever calls decides how far apart looks are.
//
//   SettledFile file("/etc/headgate/headgate.yaml");
//   if (auto news = file.Look()) Reload(*std::move(news));

#ifndef HEADGATE_COMMON_SETTLED_FILE_H_
#define HEADGATE_COMMON_SETTLED_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace headgate {

class SettledFile {
 public:
  // What is in the file, or why it cannot be read.
  using Content = absl::StatusOr<std::string>;

  explicit SettledFile(std::string path) : path_(std::move(path)) {}

  // The content, if it is new; the first that settles is.
  std::optional<Content> Look();

 private:
  // Which file this is and when it was last changed; all zero for none.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size = 0;
    int64_t modified_ns = 0;
    int64_t changed_ns = 0;
    int error = 0;  // of stat

    friend bool operator==(const Identity&, const Identity&) = default;
  };
  using Fingerprint = std::pair<uint64_t, uint64_t>;

  static Fingerprint FingerprintOf(const Content& content);
  Identity Stat() const;

  const std::string path_;
  std::optional<Identity> seen_;
  std::optional<Fingerprint> pending_;  // what the last look read
  bool settled_ = false;                // seen_ and pending_ were seen twice, without an error
  std::optional<Fingerprint> told_;
};

}  // namespace headgate

#endif  // HEADGATE_COMMON_SETTLED_FILE_H_
