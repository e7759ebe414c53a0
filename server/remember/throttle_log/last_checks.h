// What the newest Checks of each identity asked for: to ask again as its job does, in Explain.
//
// Of each identity on a target one that was allowed and one that was denied are kept, with their
// pattern and tags. Bounded by bytes: the identity whose Checks are the oldest goes first. Of a
// text, and of all tags together, no more than kMostText is kept.
//
// Thread-safe: it takes a lock, so a thread that counts notes at most one Check of an identity
// between two collections.
//
//   last.Note(request, answer, now);
//   for (const LastCheck& check : last.Of(answer.subject_key)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/held_bytes.h"
#include "common/mutex.h"
#include "server/decide/engine/answer.h"

namespace headgate::throttle_log {

struct LastCheck {
  absl::Time at;
  bool allowed = false;
  std::optional<double> estimated_cost = {};
  double predicted_cost = 0;
  std::string pattern = {};
  std::vector<std::pair<std::string, std::string>> tags = {};
};

class LastChecks {
 public:
  static constexpr size_t kMostText = 256;
  static constexpr size_t kMostTagText = 1024;

  // `held` counts what this takes, and outlives it; null: nobody counts.
  explicit LastChecks(HeldBytes* held, size_t most_bytes = size_t{8} << 20)
      : most_bytes_(most_bytes), held_(held) {}

  // Of an answer with a subject; in place of the one before that became the same.
  void Note(const engine::CheckRequest& request, const engine::CheckAnswer& answer, Now now);

  // The newest first. The key is the engine's, of the identity and the target.
  std::vector<LastCheck> Of(uint64_t subject_key) const;

 private:
  struct Subject {
    uint64_t key = 0;
    std::optional<LastCheck> allowed = {}, denied = {};
    size_t bytes = 0;
  };
  using Subjects = std::list<Subject>;  // that were noted last first

  void Forget(Subjects::iterator subject) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  mutable Mutex mutex_;
  Subjects subjects_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Subjects::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  HeldBytes::Share held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::throttle_log
