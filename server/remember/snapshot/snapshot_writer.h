// Keeps an engine's state on disk: read once at start, written again and again while it serves.
//
// At start. Load reads the file and says what there is: nothing, a state to restore, a file that
// cannot be read, which may be sound and is left alone, or one that is refused, which is set aside
// under another name and replaced by a clean start. Where it cannot be set aside nothing is written
// until it can: it may be the only trace of what went wrong. How much time
// has passed since is the least that the clocks agree on: on the same start of the machine the
// lesser of what the wall clock and the monotonic one say, else what the wall clock says, and never
// less than nothing. A wall clock that was set back drains nothing.
//
// While it serves. A thread of its own copies the engine's state and writes it, and not where
// nothing has changed, neither in the engine nor about the file. Copies begin `period` apart, and
// sooner where writing takes so long that more than `at_most` could be lost between a copy and the
// next one on disk. A disk that is full or read-only stops nothing: State says so, and the next
// round tries again.
//
// Thread-safe, but for Start and Stop, which belong to one thread.
//
//   Loaded loaded = Load(path, clock.Read());
//   ... make an engine, with loaded.state->seed if there is a state; engine.Restore(...) ...
//   SnapshotWriter writer({.path = path}, engine, clock);
//   writer.Start();
//   ... serve ...
//   writer.Stop();  // after the last call: writes once more

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/engine.h"
#include "server/remember/snapshot/atomic_file.h"
#include "server/remember/snapshot/format.h"

namespace headgate::snapshot {

struct Loaded {
  std::optional<engine::SavedState> state;  // none: begin with nothing
  int64_t elapsed_ns = 0;                   // since it was saved
  absl::Status unreadable;                  // OK: it could be read, or there is none
  absl::Status refused;                     // OK: nothing was
  std::string set_aside;                    // where the refused file is now; empty: nowhere
};
Loaded Load(const std::string& path, Now now);
// As Load does with a file that turns out to be of no use later.
void Refuse(const std::string& path, const absl::Status& why, Loaded& loaded);

// How long ago `saved_at` was, nanoseconds; see above. FailedPrecondition: more than a day ahead,
// so one of the clocks is wrong.
absl::StatusOr<int64_t> ElapsedSince(Now saved_at, const BootId& saved_boot, Now now,
                                     const BootId& boot);

struct SnapshotWriterOptions {
  std::string path;
  absl::Duration period = absl::Milliseconds(750);
  absl::Duration at_most = absl::Seconds(1);
  // A refused file is at `path`: it is set aside before anything is written.
  bool in_the_way = false;
  // Called when writing begins to fail, and when it works again, with what became of the newest.
  std::function<void(const absl::Status&)> on_change = [](const absl::Status& /*status*/) {};
};

struct SnapshotWriterState {
  absl::Status status;  // of the newest write
  // What is on disk is what there was then: when it was copied, or last seen not to have changed.
  // Monotonic, so that its age is right though the wall clock is set; 0: never.
  int64_t as_of_ns = 0;
  int64_t bytes = 0;
  int64_t writes = 0;
  int64_t failures = 0;
};

class SnapshotWriter {
 public:
  // Both outlive this.
  SnapshotWriter(const SnapshotWriterOptions& options, engine::Engine& engine, Clock& clock);
  ~SnapshotWriter() { StopThread(); }
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  void Start();
  // Writes what there is now, changed or not; an error is in State. Harmless if repeated.
  void Stop();

  // What the thread does each period: true if it wrote.
  bool Round();
  // How long after the beginning of a round the next one begins, where writing takes so long.
  static absl::Duration NextRoundAfter(absl::Duration took, const SnapshotWriterOptions& options);

  SnapshotWriterState State() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();
  void StopThread();
  // What was copied is on disk already.
  bool IsOnDisk() const;
  absl::Status Write();
  void Note(const absl::Status& status, Now begun) ABSL_LOCKS_EXCLUDED(mutex_);

  const SnapshotWriterOptions options_;
  engine::Engine& engine_;
  Clock& clock_;
  const BootId boot_;
  // Of whoever is in a round: the thread, or Stop after it.
  engine::SavedState saved_;
  Encoded encoded_;
  std::optional<uint64_t> on_disk_;  // fingerprint
  std::optional<FileId> file_;       // that it was written to
  bool in_the_way_;                  // a refused file

  mutable Mutex mutex_;
  SnapshotWriterState state_ ABSL_GUARDED_BY(mutex_);

  // A standard mutex, as condition variables take it; it guards `stopping_`.
  std::mutex thread_mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace headgate::snapshot
