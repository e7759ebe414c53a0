// What a holder of a lease says of its pieces, in the engine's words: whose they are, and which
// limit refused them. Names that the policy does not have for this identity are left out: nobody
// fills tables of names with what it makes up.
//
// Thread-safe. What is found has views into a policy, which it keeps.
//
//   absl::StatusOr<PieceSubject> subject = FindPieceSubject(core, request, now);
//   counts.RecordPieces({.subject = *subject, .cause = subject->CauseOf(said), .pieces = 12});

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/cause.h"

namespace headgate::engine {

struct EngineCore;

// What became of some pieces, as their holder says it.
struct PieceOutcome {
  Verdict verdict = Verdict::kAllowed;
  Reason reason = Reason::kNone;  // of those that were refused, or kApproximate
  Limit limit = Limit::kRule;
  bool has_limit = false;  // something objected
  std::string_view budget = {};
  std::string_view rule = {};
  std::string_view signal = {};
};

struct PieceSubject {
  uint64_t key = 0;  // as in CheckAnswer
  std::string_view target;
  std::shared_ptr<const Policy> policy;
  std::vector<std::string_view> rules;  // that match
  Reason lets_through = Reason::kNone;  // kExempt, or kUnmatched: nothing limits it

  // A reason that cannot be one of such pieces becomes that of its limit, or none.
  CauseView CauseOf(const PieceOutcome& outcome) const;
};

// As of a Check: InvalidArgument that names the field, NotFound for an unknown target.
absl::StatusOr<PieceSubject> FindPieceSubject(const EngineCore& core, const CheckRequest& request,
                                              Now now);

}  // namespace headgate::engine
