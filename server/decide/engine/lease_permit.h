// What the permit of a lease says of it, for people: copied out of a table, so that it can be
// looked at while leases are granted and returned.
//
// Plain data, thread-compatible.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "server/decide/engine/permit.h"

namespace headgate::engine {

struct LeasePermit {
  struct Charge {
    uint32_t ledger = 0;  // slot in the policy's list of ledgers
    double cost = 0;      // in the unit of its budget
  };

  LeasePermit() = default;
  LeasePermit(const Permit& permit, int64_t expires_at_ns)
      : target_key(permit.target_key),
        subject_key(permit.LeafKey()),
        amount(std::max(double{permit.estimate}, 0.0)),
        issued_at_ns(permit.issued_at_ns),
        expires_at_ns(expires_at_ns) {
    // One that is not this permit's any more may say anything.
    const size_t used = std::min<size_t>(permit.charges_used, permit.charges.size());
    for (size_t i = 0; i < used; ++i) {
      const PermitCharge& charge = permit.charges[i];
      if (charge.tag != 0) charges.push_back({charge.ledger, charge.cost});
    }
  }

  uint64_t target_key = 0;
  uint64_t subject_key = 0;  // 0: not known
  double amount = 0;         // that was granted, as the Check estimated it
  int64_t issued_at_ns = 0;  // monotonic, both
  int64_t expires_at_ns = 0;
  absl::InlinedVector<Charge, 4> charges;  // but for what holds concurrency only
};

}  // namespace headgate::engine
