// Who may do what, put into force: the AccessControl that the services ask, and the token file that
// it needs, watched.
//
// A token file that is wrong leaves the tokens that are known as they are; the snapshot says why.
// It keeps no configuration out that goes on with the same file: only another file is read first,
// and where that cannot be used, looked at until it can. What is refused is told in the log, seldom
// enough.
//
// Thread-safe, but Prepare, Revert, Apply, SeesTokens, StopWaiting and Stop: one call at a time.
//
//   ConfiguredAccess access(seed, clock);
//   if (absl::Status status = access.Prepare(config); !status.ok()) return status;
//   access.Apply(config);  // or Revert

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/file_watcher.h"
#include "common/mutex.h"
#include "common/settled_files.h"
#include "server/govern/access/access_control.h"
#include "server/govern/access/status.h"
#include "server/govern/access/token_book.h"
#include "server/govern/config/config.h"

namespace headgate::app {

class ConfiguredAccess {
 public:
  // The clock outlives this. `seed` is the engine's.
  ConfiguredAccess(uint64_t seed, Clock& clock);

  // To be called before the rules of a configuration are in force, so that nobody can claim what
  // they match meanwhile: protects that, besides what is protected now. Then comes either Apply, or
  // Revert, which takes it back.
  //
  // An error changes nothing. FailedPrecondition: access is on, and would be off. InvalidArgument:
  // each error of its token file, with its line where it is about one.
  absl::Status Prepare(const config::Config& config);
  void Revert();
  // The configuration that Prepare was told.
  void Apply(const config::Config& config);

  // One look at the token file that Prepare has refused a configuration for: whether it has settled
  // with something else, so that the configuration may be tried again.
  bool SeesTokens();
  // Nobody wants that configuration any more.
  void StopWaiting() { awaited_.reset(); }

  // The token file is not watched any more.
  void Stop() { watcher_ = nullptr; }

  access::AccessControl& control() { return access_; }
  access::AccessSnapshot Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Awaited {
    explicit Awaited(const std::string& file_path) : path(file_path), file({file_path}) {}

    std::string path;
    SettledFiles file;
    std::optional<SettledFiles::Content> text = {};  // that settled last
  };

  // The tokens of a file that was not in use before.
  absl::StatusOr<access::TokenBook> ReadTokens(const access::PolicySpec& spec);
  // The token file has this content now, or cannot be read.
  void Update(const std::string& path, const absl::StatusOr<std::string>& text)
      ABSL_LOCKS_EXCLUDED(mutex_);

  access::AccessControl access_;
  std::optional<access::PolicySpec> spec_;  // as Apply was told
  // What Prepare has read, for Apply; nothing: the tokens stay, since their file does.
  std::optional<access::TokenBook> next_tokens_;
  std::optional<Awaited> awaited_;

  mutable Mutex mutex_;
  access::AccessSnapshot snapshot_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> wanted_ ABSL_GUARDED_BY(mutex_);  // tokens that callers are known by
  std::unique_ptr<FileWatcher> watcher_;                     // calls Update: destroyed first
};

}  // namespace headgate::app
