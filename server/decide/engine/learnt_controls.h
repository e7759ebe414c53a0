// LearntControls: what the controllers of auto budgets learnt, which the engine carries for them.
//
// For each target some bytes that the engine does not read: it keeps them in its snapshot and hands
// them to the target's next owner, so that a controller goes on where the one before it stopped. An
// adoption is counted, so that a controller sees when another owner's bytes have come in; and it
// writes on condition that none has, or what one server learnt would replace what the next one is
// to know.
//
// Thread-safe; Checks never come here.
//
//   LearntControls learnt;
//   const LearntControlBytes known = learnt.Get("orders");
//   bool kept = learnt.Set("orders", bytes, known.adoption);

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {

struct LearntControlBytes {
  std::string bytes;      // empty: nothing is known
  uint64_t adoption = 0;  // Changes with each adoption. 0: never adopted.
};

class LearntControls {
 public:
  LearntControlBytes Get(std::string_view target) const ABSL_LOCKS_EXCLUDED(mutex_);
  // False, and nothing is kept: the target was adopted in between. At most kMaxControlBytes.
  bool Set(std::string_view target, std::string_view bytes, uint64_t adoption)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // From the owner before, or empty: nothing is known of the target.
  void Adopt(std::string_view target, std::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops what is of other targets. The names are sorted.
  void KeepOnly(const std::vector<std::string_view>& targets) ABSL_LOCKS_EXCLUDED(mutex_);

  void Save(SavedState& state) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Restore(const SavedState& state) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable Mutex mutex_;
  // An ordered map: the same state is saved as the same bytes.
  std::map<std::string, LearntControlBytes, std::less<>> states_ ABSL_GUARDED_BY(mutex_);
  uint64_t adoptions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headgate::engine
