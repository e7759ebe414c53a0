// What pause, throttle, exempt, resume and overrides are asked, parsed and checked.
//
// Plain data; thread-compatible.

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"

namespace headgate::cli {

// Who does it, and why.
struct ActorArguments {
  std::string actor;  // empty: HEADGATE_ACTOR, or else user and host
  std::string reason;
};

struct Never {};
// As ComingTimeFromText takes it: which time it is depends on the clock.
struct Until {
  std::string text;
};
using Expiry = std::variant<absl::Duration, Until, Never>;

struct OverrideArguments {
  v1::OverrideKind kind = v1::OVERRIDE_KIND_PAUSE;
  std::string identity;  // one of these three
  std::string segment;
  bool everything = false;
  std::optional<double> ratio;   // of throttle
  std::optional<Expiry> expiry;  // absent, of resume only: end what holds it
  bool is_sure = false;          // nobody is asked, whoever has used it
  ActorArguments who;
};

struct DeleteOverrideArguments {
  int64_t id = 0;
  ActorArguments who;
};

struct OverridesArguments {
  enum class View { kInForce, kEvents };
  View view = View::kInForce;
  int limit = 100;    // of events
  std::string since;  // of events, as TimeFromText takes it; empty: from the beginning
  std::string until;  // likewise; empty: to the end
};

}  // namespace headgate::cli
