// What an observer of the simulation knows of one grant, or of one Check that was admitted.
//
// Plain data, thread-compatible. Times are nanoseconds of the simulation, amounts are estimates.

#pragma once

#include <cstdint>
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
  TargetReference::Charge charge;
  bool has_place = false;

  double spent = 0;
  int64_t pieces = 0;
  int under_way = 0;  // of those pieces
  int repeats = 0;    // of the answer

  // By the count of what has happened; 0: not yet.
  uint64_t granted_at = 0;
  uint64_t settled_at = 0;
  bool is_lost = false;  // whoever decides now has not heard of it
};

using SharedLease = std::shared_ptr<LeaseRecord>;

}  // namespace headgate::leases
