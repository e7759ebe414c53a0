// ToldOnce: which messages of holders of leases have been counted, so that one that comes again,
// for its answer was lost, is not counted again.
//
// A message is known by the number that its holder has made up for it. It is remembered for
// kRemembered at least, and for twice as long at most; in a flood of messages the newest kMostKept
// at least are remembered. Memory is bounded: 2.4 MB. A restart forgets all, and a server knows
// nothing of what another one was told.
//
// Thread-safe.
//
//   if (told.IsNew(subject.key, use.id(), now)) ... count it ...
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/held_bytes.h"
#include "common/mutex.h"

namespace headgate::throttle_log {

class ToldOnce {
 public:
  static constexpr absl::Duration kRemembered = absl::Minutes(10);
  static constexpr size_t kMostKept = 1 << 16;

  // `held` counts what this takes, and outlives it; null: nobody counts.
  explicit ToldOnce(HeldBytes* held) : held_(held) {}

  // Whether this subject (CheckAnswer::subject_key) has told nothing by that number before. It has
  // then.
  bool IsNew(uint64_t subject_key, uint64_t id, Now now);

 private:
  void Turn(int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  // The older ones are forgotten when the newer ones take their place.
  absl::flat_hash_set<uint64_t> newer_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint64_t> older_ ABSL_GUARDED_BY(mutex_);
  int64_t turned_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  HeldBytes::Share held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::throttle_log
