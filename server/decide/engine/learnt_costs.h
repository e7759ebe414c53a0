// What was learnt of costs, listed and forgotten.
//
// Reads all of it: for operators, not for the path of a Check. Thread-safe.
//
//   for (const LearntCost& cost : LearntCosts(core).Read({.target = "orders"})) ...

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/learnt_cost.h"

namespace headgate::engine {

class LearntCosts {
 public:
  explicit LearntCosts(EngineCore& core) : core_(core) {}

  // What was reported last first.
  std::vector<LearntCost> Read(const LearntCostFilter& filter) const;
  // Forgets it: predictions begin anew. NotFound: the target, or nothing was learnt of it.
  // InvalidArgument: the identity is none, or there are several targets and none is named.
  absl::StatusOr<ForgottenCosts> Forget(const LearntCostFilter& filter);

 private:
  EngineCore& core_;
};

}  // namespace headgate::engine
