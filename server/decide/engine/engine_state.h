// What of an engine outlives its process: saved while Checks go on, and restored before the first.
//
// Thread-safe; Restore is called before anything else is. engine_state.cc says why a saved permit
// and the saved buckets agree.
//
//   EngineState(core).Save(now, state);

#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {

class EngineState {
 public:
  explicit EngineState(EngineCore& core) : core_(core) {}

  // What has to survive a restart, as it is now. Checks and Reports go on, one with a request id
  // once its stripe is copied; Install waits. A Check or a Report that is under way may be in it,
  // or not, or by its charges only: then more is owed than need be. `state` may be reused.
  void Save(Now now, SavedState& state) ABSL_LOCKS_EXCLUDED(core_.install_mutex);
  // Once, before the first Install, which then does to the debt what a reload does. The engine was
  // made with the state's seed. `elapsed_ns`: how long ago it was saved, or a bound from below; by
  // so much clocks go on, each at the speed it had. InvalidArgument: no engine saved this;
  // ResourceExhausted: permit ids have run out. The engine is then of no use.
  absl::Status Restore(const SavedState& state, Now now, int64_t elapsed_ns)
      ABSL_LOCKS_EXCLUDED(core_.install_mutex);

 private:
  EngineCore& core_;
};

}  // namespace headgate::engine
