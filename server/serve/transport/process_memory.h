// ProcessMemory: what callers hold of this process's memory.
//
// That cannot be counted where it is allocated, since gRPC allocates it. So it is what is left of
// the process's growth since the server began to listen, once everything is taken off that the
// server holds itself and counts: each owner of memory says how many bytes it holds, and whoever
// installs a configuration how large its tables are.
//
// Memory that was freed looks as if it were held until the C library gives it back to the system.
// It is told to where much is unaccounted for: when owners have let go of some, a few times after
// connections were closed that held much, and else not more often than every five seconds, and more
// and more rarely where that does not help.
//
// Thread-safe. HeldByCallers takes some microseconds, and some milliseconds where it gives memory
// back. Of a sanitizer's allocator nothing is known: 0.
//
//   ProcessMemory memory({{"log_tables", [&] { return recorder.held_bytes(); }}});
//   ... memory.HeldByCallers() ...

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/file_descriptor.h"
#include "common/mutex.h"

namespace headgate::transport {

// Memory that is the server's own, whatever callers do.
struct MemoryOwner {
  std::string name;
  // What it holds now; asked a hundred times a second, from any thread.
  std::function<int64_t()> bytes;
};

// What an owner holds.
struct OwnedMemory {
  std::string owner;
  int64_t bytes = 0;
};

// What the C library has given out and not got back, which takes some milliseconds where there are
// many free pieces. Of a sanitizer's allocator it knows nothing: 0.
int64_t AllocatedBytes();

class ProcessMemory {
 public:
  // What the owners refer to outlives this.
  explicit ProcessMemory(std::vector<MemoryOwner> owners = {});

  // Bytes. 0 where the system does not tell.
  struct Callers {
    int64_t held = 0;
    // Beyond the least that the process had in the last half a minute or minute, or, where
    // connections were closed for memory since, before that. It sees what the first one does not:
    // memory in the place of tables of which nothing has been touched yet.
    int64_t grown_lately = 0;
  };
  Callers LookAtCallers() ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t HeldByCallers() { return LookAtCallers().held; }
  // So many bytes more, or fewer, are not of callers.
  void Allow(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Connections were closed that held much, which will be freed in a while.
  void ExpectRelease() ABSL_LOCKS_EXCLUDED(mutex_);
  // What each owner holds, and what callers held at the last look, as "callers".
  std::vector<OwnedMemory> Read() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Of the process, without the files that are mapped into it.
  int64_t AnonymousBytes() const;
  int64_t HeldByOwners() const;
  // How much more there is than the least lately.
  int64_t GrownLately(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // At each look.
  bool IsTimeToGiveBack(int64_t held, int64_t owned) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsReleaseExpected() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t LeastLately() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::min(least_now_, least_before_);
  }
  int64_t Unaccounted(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(int64_t unaccounted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FileDescriptor statm_;
  const std::vector<MemoryOwner> owners_;

  mutable Mutex mutex_;
  // What is not the callers', besides what the owners hold. It may be negative.
  int64_t others_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_known_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t held_by_callers_ ABSL_GUARDED_BY(mutex_) = 0;  // at the last look
  int looks_since_return_ ABSL_GUARDED_BY(mutex_);
  int looks_between_returns_ ABSL_GUARDED_BY(mutex_);
  int64_t most_owned_ ABSL_GUARDED_BY(mutex_) = 0;    // since memory was given back
  int looks_to_release_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: none is expected
  int looks_between_releases_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of what owners do not hold, the least in this half of a minute and in the one before.
  int64_t least_now_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t least_before_ ABSL_GUARDED_BY(mutex_) = 0;
  int looks_in_half_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headgate::transport
