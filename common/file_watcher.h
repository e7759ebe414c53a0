// Watches a file, or several that belong together, from a thread of its own, and calls back when
// their content has changed.
//
// Polls instead of asking inotify: that cannot see through the symlinks that Kubernetes swaps, nor
// network file systems, and a stat ten times a second costs nothing. What counts as a change is
// said in settled_files.h; with the default interval it is told within 200 ms, and deletion and
// re-creation like any other change. The first content is told too, so that nothing is missed
// between a first load and the start of watching.
//
// Callbacks run on the watcher's thread, one call at a time; a slow one delays the next look.
// Destroying the watcher waits for a call that is running.
//
//   FileWatcher watcher(SettledFiles({path}),
//                       [&](const auto& contents) { store.Update(contents.front()); });

#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "common/settled_files.h"

namespace headgate {

class FileWatcher {
 public:
  using OnChange = std::function<void(const SettledFiles::Contents&)>;
  struct Callbacks {
    OnChange on_change = {};
    std::function<void()> on_quiet = {};  // after each look that saw nothing new; may be null
  };

  FileWatcher(SettledFiles files, OnChange on_change,
              absl::Duration interval = absl::Milliseconds(100))
      : FileWatcher(std::move(files), Callbacks{.on_change = std::move(on_change)}, interval) {}
  FileWatcher(SettledFiles files, Callbacks callbacks,
              absl::Duration interval = absl::Milliseconds(100));
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;
  ~FileWatcher();

 private:
  void Run();

  SettledFiles files_;  // the thread's alone
  const Callbacks callbacks_;
  const absl::Duration interval_;

  // A std::mutex, since it is the partner of a condition variable.
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;  // guarded by mutex_

  std::thread thread_;
};

}  // namespace headgate
