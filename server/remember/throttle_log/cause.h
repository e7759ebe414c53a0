// What an answer is counted under: its outcome, and the limit that did it, with that limit's names.
//
// Views into the answer's policy: a CauseView lives as long as the answer. Pure functions.
//
//   const CauseView cause = CauseOf(answer);
//   const uint64_t key = CombineHash(answer.subject_key, cause.Hash(seed));

#pragma once

#include <cstdint>
#include <string_view>

#include "server/decide/engine/answer.h"
#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

struct CauseView {
  Outcome outcome = Outcome::kAllowed;
  engine::Reason reason = engine::Reason::kNone;
  engine::Limit limit = engine::Limit::kRule;
  std::string_view budget;
  std::string_view rule;
  std::string_view signal;
  // What was compared: in the signal's unit where there is one. A limit of 0: nothing can be told,
  // for want of a sample, or of a threshold.
  double observed = 0;
  double limit_value = 0;

  uint64_t Hash(uint64_t seed) const;  // of all but the numbers
  Cause ToCause() const;
};

// What an answer to a Check is counted under, as the engine gave it.
CauseView CauseOf(const engine::CheckAnswer& answer);

}  // namespace headgate::throttle_log
