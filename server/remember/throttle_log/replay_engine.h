// An engine on simulated time that decides recorded Checks again.
//
// Thread-compatible.
//
//   ReplayEngine engine(policy, bucket_bytes, seed);
//   absl::Status installed = engine.Start(first_step);
//   switch (engine.Decide(row, at_ns)) {...}

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/decide/engine/engine.h"
#include "server/remember/throttle_log/replay_caveats.h"
#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

class ReplayEngine {
 public:
  ReplayEngine(const engine::PolicySpec& policy, size_t bucket_bytes, uint64_t seed);

  // Errors: as Engine::Install's. `at_ns`, here and below: since the Unix epoch.
  absl::Status Start(int64_t at_ns);

  enum class Decided : uint8_t { kAllowed, kDenied, kNot };
  // One Check of a row. Times must not run backwards.
  Decided Decide(const Row& row, int64_t at_ns);

  // What the Checks so far were like.
  const ReplayFacts& facts() const { return facts_; }

 private:
  Now At(int64_t at_ns) const;
  Decided DecideAnew(const engine::CheckRequest& request, const Now& now);
  Decided Undecided(const absl::Status& why);
  // Whether a Check that was denied stays so.
  bool StaysDenied(const Row& row);
  // Whether a profile gates the subject, which is resolved.
  bool IsGated() const;
  // Whether the subject is charged to such a budget that enforces.
  bool IsCharged(absl::FunctionRef<bool(const engine::Budget&)> to_such) const;

  const engine::PolicySpec& policy_;
  const uint64_t seed_;
  engine::Engine engine_;
  int64_t started_ns_ = 0;
  engine::Resolved resolved_;
  engine::CheckAnswer answer_;
  ReplayFacts facts_;
};

}  // namespace headgate::throttle_log
