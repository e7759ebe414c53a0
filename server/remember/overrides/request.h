// What somebody asks for, checked: everything that can be told without knowing what is in force.
//
// Errors are InvalidArgument and begin with the field: "selector.identity: ...". Pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/remember/overrides/override.h"

namespace headgate::overrides {

struct Never {};
// From now on, an instant, or until it is deleted.
using Expiry = std::variant<absl::Duration, absl::Time, Never>;

struct CreateRequest {
  Kind kind = Kind::kPause;
  Selector selector;
  std::optional<double> ratio;  // of kThrottle
  std::string actor;
  std::string reason;
  Expiry expiry;
  // Whether the actor is who called, as it has proved: what it may make has a limit of its own.
  bool actor_is_caller = false;
  // Whether a resume may lift an emergency stop that is in force: otherwise there is none while
  // everything is stopped.
  bool may_lift_stops = true;
};

struct DeleteRequest {
  int64_t id = 0;
  std::string actor;
  std::string reason;
  // Whether this one, as it is when it would be ended, may be: whoever was asked before may not
  // have known of it yet. Null: any may.
  std::function<bool(const Override& override)> may_end = {};
};

// Something else that an operator does, to be kept in the list of events.
struct Deed {
  EventKind kind = EventKind::kCostsForgotten;
  std::string change = {};  // what is done, for a person
  std::string actor = {};
  std::string reason = {};
};

inline constexpr size_t kMaxReasonBytes = 1024;

// Both are required, and one line each.
absl::Status ValidateWho(const std::string& actor, const std::string& reason);
absl::Status ValidateSelector(const Selector& selector);
absl::Status Validate(const DeleteRequest& request);
// Whether what was read of one could have been made.
bool MakesSense(const Override& override);

// The override, but for its id.
absl::StatusOr<Override> Draft(const CreateRequest& request, const Now& now);

}  // namespace headgate::overrides
