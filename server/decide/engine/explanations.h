// What Check would answer, with the rules that match and the buckets that it would be charged to.
//
// The limits are examined as for a Check, and then each bucket is looked at by itself, so buckets
// are shown too where a rule or a gate has refused before anyone looked at them. Nothing is
// charged.
//
// Thread-safe.
//
//   absl::StatusOr<Explanation> explanation = Explanations(core).Explain(request, now);

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/engine_core.h"

namespace headgate::engine {

class Explanations {
 public:
  explicit Explanations(EngineCore& core) : core_(core) {}

  // A rule that denies a share of Checks denies none of these, which are told the share, or its
  // share of them.
  enum class Dice : uint8_t { kNotRolled, kRolled };
  absl::StatusOr<Explanation> Explain(const CheckRequest& request, Now now,
                                      Dice dice = Dice::kNotRolled);

 private:
  EngineCore& core_;
};

}  // namespace headgate::engine
