// Observer: holds what servers and holders do against what is promised, in the simulation.
//
// Of every grant: it is between the least and the most that was asked for; nothing is granted to
// who is paused, or through a shut gate; a piece of it may cost no more than max_cost; there was a
// place for it; its permit was never another's. Of every piece: its lease has time by the server's
// clock, it is part of what was granted, and no bucket admits more than TargetReference lets it.
// Of every return: it is settled once, by who has to know the lease, and counted once.
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
  void GoOnFrom(int target, const Copy& copy, Knows knows, int64_t elapsed_ns);
  // What is long over is forgotten.
  void Trim();

  double excess() const;
  // Of leases, and of pieces that the log has counted.
  int64_t granted() const { return granted_; }
  int64_t settled() const { return settled_; }
  int64_t counted() const { return counted_; }

 private:
  static constexpr int64_t kRemembered_ns = 90'000'000'000;

  LeaseRecord* Find(uint64_t permit);
  void CheckGrant(const AskedFor& asked, const engine::CheckAnswer& answer);
  void CheckPlace(LeaseRecord& lease);

  Timeline& timeline_;
  ModelPolicy policy_;
  std::vector<TargetReference> targets_;
  std::array<bool, kTargets.size()> gates_shut_ = {};
  std::unordered_map<uint64_t, SharedLease> by_permit_;
  std::deque<SharedLease> in_order_;
  std::array<std::vector<SharedLease>, kTargets.size()> with_places_;
  int64_t granted_ = 0, settled_ = 0, counted_ = 0;
};

}  // namespace headgate::leases
