// Who may do what, put into force: the guard that the services ask, and the token file that it
// needs, watched.
//
// A token file that is wrong leaves the tokens that are known as they are; the snapshot says why.
// What is refused is told in the log, seldom enough.
//
// Thread-safe, but Prepare, Revert, Apply and Stop: one call at a time.
//
//   Access access(seed, clock);
//   absl::StatusOr<access::TokenBook> tokens = Access::ReadTokens(config);
//   if (!tokens.ok()) return tokens.status();
//   access.Apply(config, *std::move(tokens));

#ifndef HEADGATE_SERVER_APP_ACCESS_H_
#define HEADGATE_SERVER_APP_ACCESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/access/guard.h"
#include "server/access/token_book.h"
#include "server/config/config.h"
#include "server/config/file_watcher.h"
#include "server/rpc/sources.h"

namespace headgate::app {

class Access {
 public:
  // The clock outlives this. `seed` is the engine's.
  Access(uint64_t seed, Clock& clock);

  // The tokens of a configuration; none, if it has no file. InvalidArgument: each error with its
  // file, and its line where it is about one.
  static absl::StatusOr<access::TokenBook> ReadTokens(const config::Config& config);

  // Protects what the rules of a configuration protect, besides what is protected now: to be called
  // before they are in force, so that nobody can claim what they match meanwhile. Revert takes it
  // back if they are not taken.
  void Prepare(const config::Config& config);
  void Revert() { guard_.SetPolicy(spec_); }
  void Apply(const config::Config& config, access::TokenBook tokens);
  // The token file is not watched any more.
  void Stop() { watcher_ = nullptr; }

  access::AccessGuard& guard() { return guard_; }
  rpc::AccessSnapshot Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The token file has this content now, or cannot be read.
  void Update(const std::string& path, const std::vector<std::string>& wanted,
              const absl::StatusOr<std::string>& text) ABSL_LOCKS_EXCLUDED(mutex_);

  access::AccessGuard guard_;
  std::optional<access::PolicySpec> spec_;  // as Apply was told
  mutable Mutex mutex_;
  rpc::AccessSnapshot snapshot_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<config::FileWatcher> watcher_;  // calls Update: destroyed first
};

}  // namespace headgate::app

#endif  // HEADGATE_SERVER_APP_ACCESS_H_
