// An override: a rule that was made at run time, and what happened to it or was done beside it.
//
// Plain data, thread-compatible. The numbers of the enums are on disk.

#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace headgate::overrides {

enum class Kind : uint8_t {
  kPause = 1,     // deny
  kThrottle = 2,  // deny a share
  kExempt = 3,    // let pass, charged to nothing
  kResume = 4,    // let through what pauses and throttles; budgets and health still count
};

struct Selector {
  std::string identity = {};  // this level and everything below it; or
  std::string segment = {};   // any identity that has this segment; or
  bool everything = false;    // whoever asks
  std::string target = {};    // empty: all

  friend bool operator==(const Selector&, const Selector&) = default;
};

struct Override {
  // Counts up from 1. That of an override that was made is never used again; one that could not be
  // made takes a number too, which may be given again after a restart.
  int64_t id = 0;
  Kind kind = Kind::kPause;
  Selector selector = {};
  double ratio = 0;  // of kThrottle: above 0 and at most 1
  std::string actor = {};
  std::string reason = {};
  absl::Time created_at = {};
  absl::Time expires_at = absl::InfiniteFuture();  // exclusive

  bool AppliesAt(absl::Time wall) const { return wall < expires_at; }

  // An emergency stop: a pause or throttle of everything. A resume that is older does not lift it.
  bool IsStop() const {
    return selector.everything && (kind == Kind::kPause || kind == Kind::kThrottle);
  }

  friend bool operator==(const Override&, const Override&) = default;
};

enum class EventKind : uint8_t {
  kCreated = 1,
  kDeleted = 2,
  kExpired = 3,
  kCostsForgotten = 4,  // this and those that follow concern no override
  kDebtForgiven = 5,
  kServersChanged = 6,
};

struct Event {
  int64_t id = 0;          // counts up from 1
  absl::Time happened_at;  // of an expiry, the instant itself
  EventKind kind = EventKind::kCreated;
  Override override;  // id 0: none was concerned
  std::string actor;  // empty for an expiry, as is the reason
  std::string reason;
  std::string change;  // what was forgotten, forgiven or arranged; empty where an override says it
};

}  // namespace headgate::overrides
