// What monitors and controllers set while the policy stays: health, rates that are found, and what
// a controller learnt.
//
// Thread-safe. What is set is in force for Checks from then on, and the line is told where that may
// let somebody go.
//
//   absl::Status set = EngineControls(core).SetHealth("orders", "primary", health, now);

#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "common/clock.h"
#include "server/decide/engine/auto_rate.h"
#include "server/decide/engine/engine_core.h"
#include "server/decide/engine/learnt_controls.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::engine {

class EngineControls {
 public:
  explicit EngineControls(EngineCore& core) : core_(core) {}

  // Sets the health of a target's profile. NotFound names what is unknown.
  absl::Status SetHealth(std::string_view target, std::string_view profile, const Health& health,
                         Now now);
  // NotFound as FindAutoBudget; InvalidArgument: the rate or the level is none.
  absl::Status SetAutoRate(std::string_view target, std::string_view budget,
                           const AutoRateSetting& setting, Now now);

  // Charges a target's budgets of busy time this share of what is predicted and reported from now
  // on: above 0, up to 1. What ReadAutoActivity tells is not charged, and all of it. Errors:
  // InvalidArgument: any other; NotFound: the target.
  absl::Status SetProcessorShare(std::string_view target, double share);

  // What the controller of a target's auto budgets learnt, for its successor: in another process or
  // with the target's next owner. The engine carries it unread, with a count of the adoptions that
  // it came by. Install drops that of targets that are gone; what is set meanwhile, the next one.
  LearntControlBytes ReadLearntControl(std::string_view target) const;
  // NotFound: the target. InvalidArgument: longer than kMaxControlBytes. Aborted: the target has
  // been adopted since its state was read, so what is known is another owner's.
  absl::Status SetLearntControl(std::string_view target, std::string_view bytes, uint64_t adoption);

 private:
  EngineCore& core_;
};

}  // namespace headgate::engine
