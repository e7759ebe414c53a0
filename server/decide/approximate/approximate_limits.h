// ApproximateLimits: what this server may admit by itself of targets that nobody decides for.
//
// Its share of a budget is the rate divided by the number of servers: so all together keep to the
// rate, however they are cut off from each other. A Check is admitted if each of its buckets has
// room for it (halving_counters.h). Where one has less, a Check of up to a tenth of a second's
// share is refused. A larger one is admitted with the probability room / cost; and whatever comes
// of it, that probability times the cost is counted. So what is counted is what is admitted on
// average, costs far above the room included, and no bucket counts more than its share.
//
// What was admitted is kept, to be charged to the target's owner once there is one again
// (uncharged_costs.h). A bucket that finds no counter admits, and is counted as untracked.
//
// An owner charges each message once, whoever sends it again (ChargeOnce).
//
// Thread-safe: one lock, held for as long as it takes to look at the buckets of one Check.
//
//   ApproximateLimits limits({});
//   limits.SetServers(3);
//   engine.CheckApproximately({request, limits}, clock.Read(), answer);
//   ... there is an owner again ...
//   for (const UnchargedCost& cost : limits.TakeUncharged("orders", 1000, now)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/approximate/halving_counters.h"
#include "server/decide/approximate/uncharged_costs.h"
#include "server/decide/engine/approximate_checks.h"

namespace headgate::approximate {

// Since the start.
struct ApproximateStats {
  int servers = 1;
  int64_t admitted = 0;           // Checks
  int64_t untracked = 0;          // admitted to a bucket without a counter
  int64_t charged_buckets = 0;    // that owners were charged for, once for each time
  int64_t lost_buckets = 0;       // that nobody could be charged for, likewise
  int64_t uncharged_buckets = 0;  // those that were taken to be charged, too
};

class ApproximateLimits final : public engine::ApproximateBuckets {
 public:
  struct Options {
    size_t counters = 65'536;  // 16 bytes each
    size_t most_uncharged = 65'536;
  };
  explicit ApproximateLimits(const Options& options)
      : counters_(options.counters), uncharged_(options.most_uncharged) {}

  // By how many the rates are divided, this one included.
  void SetServers(int servers) ABSL_LOCKS_EXCLUDED(mutex_);
  void Examine(const engine::ApproximateCheck& check) override ABSL_LOCKS_EXCLUDED(mutex_);

  // The targets for which something was admitted, and what: it is the caller's to charge, and to
  // note what became of it.
  std::vector<std::string> UnchargedTargets() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<UnchargedCost> TakeUncharged(const std::string& target, size_t most, Now now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Of an owner: runs `charge`, unless that message has been charged before. Numbers of one sender
  // and target count up.
  struct ChargeMessage {
    std::string target;
    uint64_t sender = 0;
    uint64_t number = 0;
  };
  absl::Status ChargeOnce(const ChargeMessage& message, absl::FunctionRef<absl::Status()> charge)
      ABSL_LOCKS_EXCLUDED(charge_mutex_);
  void NoteCharged(size_t buckets) ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteLost(size_t buckets) ABSL_LOCKS_EXCLUDED(mutex_);

  ApproximateStats stats() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // With which probability the Check is admitted, by the buckets that deny.
  double ChanceOf(const engine::ApproximateCheck& check) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(const engine::ApproximateCheck& check, double chance)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(const engine::ApproximateCheck& check) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex charge_mutex_;
  // By target and sender, the number charged last.
  std::map<std::pair<std::string, uint64_t>, uint64_t> charged_ ABSL_GUARDED_BY(charge_mutex_);
  mutable Mutex mutex_;
  HalvingCounters counters_ ABSL_GUARDED_BY(mutex_);
  UnchargedCosts uncharged_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // buckets of which nothing was noted yet
  ApproximateStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::approximate
