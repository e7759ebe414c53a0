// Which request ids were admitted: what makes a retried Check harmless.
//
// A retry that comes while the first call is still being decided waits for it, so the id is charged
// once. Only admissions with a permit are kept, and only while it lives; all else is decided anew.
// Entries of ended permits are dropped when a stripe has doubled, so there are never more than
// twice as many entries as live permits, plus a constant; and whenever a policy is installed. An
// entry keeps the policy that its answer was decided under, so at most those old policies stay in
// memory under which a permit was live when the present one was installed.
//
// Thread-safe: one lock for each of 64 stripes. Checks without a request id never come here.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/held_bytes.h"
#include "common/mutex.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/permit_table.h"

namespace headgate::engine {

class RequestIndex {
 public:
  // `permits` outlives the index.
  explicit RequestIndex(const PermitTable& permits) : permits_(permits) {}

  // The answer that `key` was given, marked as repeated, or else the one that `decide` now gives
  // it. The caller sets its subject_key.
  absl::Status Once(uint64_t key, int64_t now_ns, CheckAnswer& answer,
                    absl::FunctionRef<absl::Status()> decide);

  // Forgets the key, if `permit` is still what it was given, so that it is decided anew. False: its
  // answer has been repeated, and is kept.
  bool Forget(uint64_t key, PermitId permit);

  size_t size() const;
  // Of memory.
  int64_t held_bytes() const { return held_.bytes(); }

  // For Engine::Save; holds each stripe for as long as copying it takes. Places are saved as they
  // are in the policy in force, whose shape the state has. What an answer told under another policy
  // is left out where the one in force has no such profile, and warnings in any case.
  void Save(SavedState& state, const Policy* in_force) const;
  // Those whose permits are live. What they say of health and warnings is not told until Adopt has
  // said whether the policy in force is like the one that it refers to.
  void Restore(const SavedState& state, const TimeShift& shift, int64_t now_ns);
  // Before the policy is in force.
  void Adopt(const std::shared_ptr<const Policy>& policy, bool is_alike);

  // Drops the entries of ended permits. After a new policy came into force.
  void DropEnded(int64_t now_ns);

 private:
  static constexpr int kStripes = 64;
  static constexpr size_t kMinBeforePurge = 64;

  struct Entry {
    PermitId permit = 0;
    double predicted_cost = 0;
    std::optional<absl::Duration> predicted_busy_time;
    Probe probe;
    double chunk_scale = 0;
    Reason reason = Reason::kNone;
    bool repeated = false;  // by this process
    int priority = 0;
    HealthView health;
    std::shared_ptr<const Policy> policy;                    // null until adopted
    std::unique_ptr<const std::vector<Violation>> warnings;  // null: none
  };
  struct Stripe {
    mutable Mutex mutex;
    absl::flat_hash_map<uint64_t, Entry> entries ABSL_GUARDED_BY(mutex);
    size_t purge_at ABSL_GUARDED_BY(mutex) = kMinBeforePurge;
    int64_t held_bytes ABSL_GUARDED_BY(mutex) = 0;  // that were counted
    // That of the newest entry, with a count of references for this stripe's entries alone: the
    // policy's own count stands beside what every Check reads.
    std::shared_ptr<const Policy> policy ABSL_GUARDED_BY(mutex);
  };

  void Keep(uint64_t key, const CheckAnswer& answer, Stripe& stripe)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(stripe.mutex);
  static void Restore(const Entry& entry, CheckAnswer& answer);
  void Purge(Stripe& stripe, int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(stripe.mutex);

  // After its number of entries has become another one.
  void CountHeld(Stripe& stripe) ABSL_EXCLUSIVE_LOCKS_REQUIRED(stripe.mutex);

  const PermitTable& permits_;
  HeldBytes held_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace headgate::engine
