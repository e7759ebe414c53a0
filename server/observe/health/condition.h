// What a target's health comes to, in one word and one sentence: what every tool shows.
//
// A gate that is shut, a speed of 0 and a standby that is missing are never healthy. Of a target
// the worst of the profiles that are in use counts, and is named.
//
// Pure functions.
//
//   const Condition condition = ConditionOf(snapshot, {"standard", "strict"}, now.wall());
//   condition.message == "profile 'strict': the gate is shut by active_backends"

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "server/decide/engine/virtual_clock.h"
#include "server/observe/health/snapshot.h"

namespace headgate::health {

// The best first; as ConditionKind in status_service.proto.
enum class ConditionKind : uint8_t {
  kUnmeasured = 1,
  kHealthy,
  kRecovering,
  kStandbyMissing,
  kSlowed,
  kWarming,
  kStale,
  kShut,
};

struct Condition {
  ConditionKind kind = ConditionKind::kUnmeasured;
  std::string profile = {};
  std::string signal = {};  // that binds
  std::string message = {};
  int64_t since_ns = 0;  // monotonic; 0: that is not known
};

ConditionKind KindOf(const engine::Health& health);
// As metrics and the log name it.
std::string_view NameOf(ConditionKind kind);

Condition ConditionOf(const ProfileSnapshot& profile);
// Profiles that no rule and no budget goes by say nothing of the target.
Condition ConditionOf(const TargetSnapshot& target, const std::vector<std::string>& in_use,
                      absl::Time now);

}  // namespace headgate::health
