// Which identities rules may charge to a budget on some condition besides: tags, an address, a
// schedule. A Check says whether the condition holds; who names a bucket by its identity alone, to
// forgive its debt, cannot.
//
// Immutable once made; thread-safe.
//
//   if (charges.MayCharge(identity, target, budget)) ...

#pragma once

#include <cstdint>
#include <vector>

#include "common/identity.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

class ConditionalCharges {
 public:
  ConditionalCharges() = default;
  // Of a valid policy. 32 bytes for each budget of a rule with such a condition.
  ConditionalCharges(const PolicySpec& spec, uint64_t seed);

  // Places are the policy's.
  bool MayCharge(const Identity& identity, uint32_t target, uint32_t budget) const;

 private:
  struct Charge {
    uint64_t level_hash = 0;
    uint64_t segment_hash = 0;
    uint32_t budget = 0;
    uint32_t target = 0;
    int depth = 0;  // of the selector; 0: none
    bool has_segment = false;
    bool has_target = false;
  };

  std::vector<Charge> charges_;
};

}  // namespace headgate::engine
