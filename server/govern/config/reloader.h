// The configuration in force, and what became of the newest file.
//
// A new configuration replaces the running one only if it loads without a problem and `apply`
// accepts it; otherwise all stays as it is, and the status says why. Names in other files have to
// exist at the start only: later those files may change a moment after this one. What `apply` has
// refused for the sake of such a file can be tried again. What only a restart can change (the
// server's addresses, the sizes of the engine's tables) is accepted and listed as pending. A file
// from which all rules were taken out is refused: without any nothing is limited.
//
// Thread-safe. Updates happen one after the other; reading does not wait for them.
//
//   ConfigStore store(path, clock);
//   absl::StatusOr<const Config*> first = store.Load();
//   if (!first.ok()) return first.status();  // says everything
//   App app(**first);
//   status = store.Start([&](const Config& config) { return app.Apply(config); });
//   FileWatcher watcher(SettledFiles({path}), [&](const auto& read) { store.Update(read.front());
//   });

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/govern/config/config.h"
#include "server/govern/config/load.h"
#include "server/govern/config/load_status.h"

namespace headgate::config {

class ConfigStore {
 public:
  // Puts a configuration into force, all of it or nothing. Called from the thread of Start or
  // Update, one call at a time.
  using Apply = std::function<absl::Status(const Config&)>;

  // An empty path: the defaults, forever. `clock` outlives the store.
  ConfigStore(std::string path, Clock& clock);

  // Reads the file; call it once, before all else. What it has is valid until Start. An error, with
  // everything that is wrong, means that there is no configuration to run with.
  absl::StatusOr<const Config*> Load() ABSL_LOCKS_EXCLUDED(update_mutex_);
  // Applies what was loaded, and from then on every update.
  absl::Status Start(Apply apply) ABSL_LOCKS_EXCLUDED(update_mutex_);
  // Why the file cannot be put into force: InvalidArgument, each line behind the file's name.
  absl::Status InFile(const absl::Status& why) const;

  // The file has this content now, or cannot be read. The text in force clears the status of a file
  // that was refused since, and changes nothing else.
  void Update(const absl::StatusOr<std::string>& text) ABSL_LOCKS_EXCLUDED(update_mutex_);

  // Tries the newest text again, if it was `apply` that refused it. A refusal for the same reasons
  // is still the one before.
  void Retry() ABSL_LOCKS_EXCLUDED(update_mutex_);

  // Null before Start.
  std::shared_ptr<const Config> current() const ABSL_LOCKS_EXCLUDED(mutex_);
  LoadStatus status() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Loaded {
    std::string text;
    Config config;
    std::vector<std::string> warnings;
  };

  absl::StatusOr<Loaded> Read(const absl::StatusOr<std::string>& text,
                              OtherFiles other_files) const;
  // Applies it, or keeps why not.
  absl::Status Replace(absl::StatusOr<Loaded> loaded) ABSL_EXCLUSIVE_LOCKS_REQUIRED(update_mutex_);
  void Accept(Loaded loaded) ABSL_LOCKS_EXCLUDED(mutex_);
  // Why the newest file was refused, each line an error; OK: it was not.
  void Refuse(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string path_;
  Clock& clock_;

  Mutex update_mutex_;  // taken before mutex_
  Apply apply_ ABSL_GUARDED_BY(update_mutex_);
  std::optional<Loaded> loaded_ ABSL_GUARDED_BY(update_mutex_);  // until Start
  std::string text_ ABSL_GUARDED_BY(update_mutex_);              // in force
  // The newest, if `apply` refused it.
  std::optional<std::string> not_applied_ ABSL_GUARDED_BY(update_mutex_);

  mutable Mutex mutex_;
  std::shared_ptr<const Config> started_with_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Config> current_ ABSL_GUARDED_BY(mutex_);
  LoadStatus status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::config
