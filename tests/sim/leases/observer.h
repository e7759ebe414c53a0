// Observer: holds what servers and holders do against what is promised, in the simulation.
//
// Of every grant: it is between the least and the most that was asked for; nothing is granted to
// who is paused, or through a shut gate; a piece of it may cost no more than max_cost; there was a
// place for it; its permit was never another's. Of every piece: its lease has time by the server's
// clock, it is part of what was granted, and no bucket admits more than TargetReference lets it.
// Of safe rates: those in a bucket are together at most what drains there at full speed; what is
// spent at one is no more than has been charged by then, from when the server begins until the
// lease is returned. It counts where it is charged, 50 ms at a time and in advance, and may be
// above the burst itself; others are admitted when what is owed, with it, leaves room. Where a
// server begins such a step is known to 50 ms: as long as it charges a safe rate, that is how much
// more than the burst others may find. Of every return: it is settled once, by who has to know the
// lease, and counted once.
//
// Thread-compatible.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/decide/engine/answer.h"
#include "server/decide/engine/settlement.h"
#include "tests/sim/leases/lease_record.h"
#include "tests/sim/leases/model_policy.h"
#include "tests/sim/leases/target_reference.h"
#include "tests/sim/leases/timeline.h"

namespace headgate::leases {

// Who asks for what.
struct AskedFor {
  std::string identity;
  int team = 0;
  int target = 0;
  double least = 0;  // 0: it is a Check
  double most = 0;
};

class Observer {
 public:
  Observer(Timeline& timeline, const ModelPolicy& policy);

  void SetPolicy(const ModelPolicy& policy);
  void SetHealth(int target, double speed, bool gate_shut);

  // A server has admitted this.
  SharedLease Granted(const AskedFor& asked, const engine::CheckAnswer& answer);
  // A holder has admitted a piece of this lease; null: of none that it holds. Late: its clock was
  // set back since it asked, so that it cannot know that the lease is over.
  enum class Clock : uint8_t { kRight, kSetBack };
  void Spent(const SharedLease& lease, double cost, Clock clock);
  // Likewise at the safe rate of one that is over.
  void SpentSafely(const SharedLease& lease, double cost);
  // A server has been told of a permit's end; `told_cost` below 0: nothing was said of it.
  void Settled(uint64_t permit, engine::ReportOutcome outcome, double told_cost);
  void NotKnown(uint64_t permit);
  void Withdrawn(uint64_t permit);

  struct Copy {
    uint64_t at = 0;
    TargetReference::Copy reference;
  };
  Copy Save(int target);
  // Who decides from now on knows what was saved, and nothing later. Restored: nor does its bucket
  // owe for it; else each of its buckets counts as full.
  enum class Knows : uint8_t { kOnlyTheCopy, kThatBucketsAreFull };
  // And how much time has passed since.
  enum class Elapsed : uint8_t { kKnown, kNotAll };
  struct GoingOn {
    Knows knows;
    Elapsed elapsed;
    int64_t elapsed_ns = 0;
  };
  void GoOnFrom(int target, const Copy& copy, const GoingOn& how);
  // What is long over is forgotten.
  void Trim();

  double excess() const;
  // Of leases, and of pieces that the log has counted.
  int64_t granted() const { return granted_; }
  int64_t settled() const { return settled_; }
  int64_t counted() const { return counted_; }
  // Cost that was spent at safe rates.
  double safely() const { return safely_; }

 private:
  static constexpr int64_t kRemembered_ns = 90'000'000'000;

  LeaseRecord* Find(uint64_t permit);
  void CheckGrant(const AskedFor& asked, const engine::CheckAnswer& answer);
  void CheckPlace(LeaseRecord& lease);
  void Reserve(const AskedFor& asked, const engine::Grant& grant, const SharedLease& lease);
  // Safe rates are charged until now.
  void ChargeSafeRates(int target);
  void CheckExcess(const LeaseRecord& lease);
  double SafeStepOf(int target, const BucketReference* bucket) const;

  Timeline& timeline_;
  ModelPolicy policy_;
  std::vector<TargetReference> targets_;
  std::array<bool, kTargets.size()> gates_shut_ = {};
  std::unordered_map<uint64_t, SharedLease> by_permit_;
  std::deque<SharedLease> in_order_;
  std::array<std::vector<SharedLease>, kTargets.size()> with_places_;
  std::array<std::vector<SharedLease>, kTargets.size()> with_safe_rates_;
  double safely_ = 0;
  int64_t granted_ = 0, settled_ = 0, counted_ = 0;
};

}  // namespace headgate::leases
