// Which policy is in force: a new one replaces the old one as a whole, or not at all.
//
// It is validated, compiled and bound to the debts off to the side. Only then are the debts of
// changed budgets moved, and the policy swapped.
//
// Thread-safe.
//
//   absl::Status installed = PolicyInstall(core).Install(std::move(spec), now);

#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

class PolicyInstall {
 public:
  explicit PolicyInstall(EngineCore& core) : core_(core) {}

  // The old one stays in force where this fails. Checks go on meanwhile; one that meets a budget
  // whose debt is being moved waits for it, 10 ns a bucket. InvalidArgument lists everything that
  // is wrong; ResourceExhausted: too many buckets.
  absl::Status Install(PolicySpec spec, Now now) ABSL_LOCKS_EXCLUDED(core_.install_mutex);

 private:
  EngineCore& core_;
};

}  // namespace headgate::engine
