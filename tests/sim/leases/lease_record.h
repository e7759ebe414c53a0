// What an observer of the simulation knows of one grant, or of one Check that was admitted.
//
// Plain data, thread-compatible. Times are nanoseconds of the simulation, amounts are estimates.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "tests/sim/leases/target_reference.h"

namespace headgate::leases {

struct LeaseRecord {
  uint64_t permit = 0;  // 0: it is charged to nothing
  std::string identity;
  int target = 0;
  double amount = 0;
  double predicted = 1;  // cost of each estimated unit
  int64_t ends_ns = 0;   // by the server
  TargetReference::Charge charge = {};
  bool has_place = false;

  double spent = 0;
  int64_t pieces = 0;

  // What the holder may go on with a second where nobody answers; 0: nothing. It is charged by the
  // server from `safe_begins_ns` on, a step at a time.
  double safe_rate = 0;
  int64_t safe_begins_ns = 0, safe_until_ns = 0;
  int64_t safe_charged_ns = 0;  // until then
  double safe_spent = 0;
  bool is_charged_late = false;  // who decides now does not know how much time has passed
  struct SafeStep {
    TargetReference::Charge charge;
    double left = 0;  // that is not spent
  };
  std::deque<SafeStep> safe_steps = {};

  int under_way = 0;  // of those pieces
  int repeats = 0;    // of the answer

  // By the count of what has happened; 0: not yet.
  uint64_t granted_at = 0;
  uint64_t settled_at = 0;
  bool is_lost = false;  // whoever decides now has not heard of it
};

using SharedLease = std::shared_ptr<LeaseRecord>;

}  // namespace headgate::leases
