// What one budget is owed on one target: its buckets, the clock they live on, and what a cost unit
// is worth there.
//
// A ledger's axis (clock, nanoseconds of virtual time for a cost unit) never changes. A reload that
// changes the rate, the health profile or the number of buckets makes a successor and moves the
// debt over in cost units, so nobody owes more or less than before. A reload that changes the
// *split* cannot say whose debt is whose: every bucket of the successor then starts with the
// largest debt that any bucket had. While a move runs, a Check that meets a moved bucket waits for
// the new policy.
//
// Refunds take back only what has not drained. A permit remembers where its charge ended on the
// axis; what lies beyond now has not drained yet. Refunds to others that stood in front move it
// forward, by no more than the refunds granted since in the same stripe: that much is assumed to
// have drained.
//
// Thread-safe, except that a move belongs to one thread at a time (the engine's installer).

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/engine/bucket_table.h"
#include "server/engine/virtual_clock.h"

namespace headgate::engine {

struct SavedLedger;

class Ledger {
 public:
  static constexpr uint64_t kSingleTag = 1;
  // The longest burst, about 73 years: at the end of virtual time, too, a burst still
  // fits below the horizon of buckets.
  static constexpr int64_t kMaxSpanNs = int64_t{1} << 61;
  static_assert(VirtualClock::kHorizonNs + kMaxSpanNs < Bucket::kHorizonNs);

  struct Axis {
    std::shared_ptr<VirtualClock> clock;
    double ns_per_unit = 0;  // virtual nanoseconds that a cost unit takes to drain
    bool is_auto = false;    // the clock is this ledger's own, its speed the rate found
  };
  // Of an auto budget: a unit is 1/128 s of its clock and not a second, so that at a thousand units
  // a second the clock lasts for years and not for a fortnight. A power of two keeps rates exact.
  static constexpr double kAutoNsPerUnit = 1e9 / 128;
  // The speed of an auto budget's clock at a rate of one unit a second.
  static constexpr double kAutoSpeed = kAutoNsPerUnit / 1e9;

  // `buckets` 0: one bucket for the whole budget, whose tag is kSingleTag. `split` only tells
  // whether two ledgers split alike. `version` is the policy's that made this ledger, at
  // `real_now_ns`.
  Ledger(Axis axis, size_t buckets, std::string split, uint64_t version, int64_t real_now_ns = 0);

  const VirtualClock& clock() const { return *axis_.clock; }
  // Now on the ledger's clock, given a reading of that clock. Time from before the ledger was made
  // is not credited: another rate, or another speed, was in force.
  int64_t Now(int64_t clock_ns) const { return std::max(clock_ns, opened_at_ns_); }
  const Axis& axis() const { return axis_; }
  const std::string& split() const { return split_; }
  size_t capacity() const { return table_ == nullptr ? 0 : table_->capacity(); }
  const BucketTable* table() const { return table_.get(); }

  // Virtual nanoseconds of a cost, rounded up: a cost above zero is never free. What is beyond
  // kMaxSpanNs is one more than that, and so beyond any burst.
  static int64_t ToNs(double cost, double ns_per_unit) {
    const double span = cost * ns_per_unit;
    if (!(span <= static_cast<double>(kMaxSpanNs))) return kMaxSpanNs + 1;
    const auto floor = static_cast<int64_t>(span);
    return floor + static_cast<int64_t>(static_cast<double>(floor) < span);
  }
  int64_t ToNs(double cost) const { return ToNs(cost, axis_.ns_per_unit); }
  double ToUnits(int64_t span_ns) const { return static_cast<double>(span_ns) / axis_.ns_per_unit; }

  void Prefetch(uint64_t tag) const {
    if (table_ != nullptr) table_->Prefetch(tag);
  }
  Bucket* Find(uint64_t tag) { return table_ == nullptr ? &single_ : table_->Find(tag); }
  // When `tag`'s bucket empties, or would if it were made now. May be Bucket::kMoved.
  int64_t EmptiesAt(uint64_t tag, int64_t now_ns) const;
  // Charges `tag`'s bucket, which is made if need be. Never kEvicted.
  ChargeResult Charge(uint64_t tag, int64_t now_ns, int64_t cost_ns, int64_t burst_ns);

  // Total of refunds so far where `tag` is counted; remember it with a charge.
  int64_t Refunded(uint64_t tag) const {
    // relaxed: a total that lags only makes a later refund smaller, since more was added meanwhile.
    return RefundedAt(tag).load(std::memory_order_relaxed);
  }

  struct Charged {
    uint64_t tag = 0;
    int64_t ended_at_ns = 0;  // ChargeResult::empties_at of the charge
    int64_t refunded_ns = 0;  // Refunded() just before the charge
  };
  // Takes back up to `refund_ns` of a charge of `charged_ns`, and no more than has not drained yet.
  // Returns what was taken back; kMoved as -1.
  int64_t Refund(const Charged& charged, int64_t charged_ns, int64_t refund_ns, int64_t now_ns);
  // Takes all of a charge back that was made for a Check which is then refused.
  void Undo(const Charged& charged, int64_t charged_ns);

  // Moves the debt to `successor`. Both times are read at `real_now_ns`.
  void MoveTo(Ledger& successor, int64_t real_now_ns);
  // Whether the charges of a permit that was issued under policy `version` are this budget's, split
  // as it is now: if not, its tags mean nothing here.
  bool Knows(uint64_t version) const { return version >= lineage_; }
  // Translates such a charge's place to this ledger's axis. False: it is more than one move old,
  // and what has drained of it is not known any more.
  bool Translate(uint64_t version, Charged& charged) const;

  // For Engine::Save: all but name, slot and clock. `clock_ns` is a reading of the clock.
  void Save(int64_t clock_ns, SavedLedger& saved) const;
  // Makes the ledger what it was when it was saved. Counts of refunds begin at 0.
  Ledger(Axis axis, const SavedLedger& saved);
  // What was refunded where a charge is counted, since it was made under policy `version`.
  int64_t RefundedSince(uint64_t version, uint64_t tag, int64_t refunded_ns) const;
  static bool IsStripes(uint64_t count);

  bool Owes(int64_t real_now_ns) const;
  // The largest debt of any bucket.
  int64_t LargestDebt(int64_t now_ns) const;

  // What an auto budget's controller wants to know. relaxed: counts that order nothing.
  void CountCheck() { checks_.fetch_add(1, std::memory_order_relaxed); }
  void CountReport(double actual_cost) {
    reports_.fetch_add(1, std::memory_order_relaxed);
    reported_ns_.fetch_add(ToNs(std::min(actual_cost, kMaxCounted)), std::memory_order_relaxed);
  }
  uint64_t checks() const { return checks_.load(std::memory_order_relaxed); }
  uint64_t reports() const { return reports_.load(std::memory_order_relaxed); }
  double reported_cost() const { return ToUnits(reported_ns_.load(std::memory_order_relaxed)); }

 private:
  static constexpr double kMaxCounted = 1e6;  // of one Report: a sum must not overflow

  std::atomic<int64_t>& RefundedAt(uint64_t tag) const {
    return refunded_[tag & (refunded_.size() - 1)];
  }

  // How times on the predecessor's axis read on this one.
  struct Origin {
    uint64_t version = 0;  // of the predecessor; 0: none
    int64_t then_ns = 0, now_ns = 0;
    double scale = 0;
    std::vector<int64_t> refunded_ns;
    int64_t Translate(int64_t at_ns) const;
  };

  const Axis axis_;
  const std::string split_;
  const uint64_t version_;
  int64_t opened_at_ns_;  // on the clock
  uint64_t lineage_;      // version of the first ledger of this budget with this split
  Origin origin_;
  Bucket single_;
  const std::unique_ptr<BucketTable> table_;
  mutable std::vector<std::atomic<int64_t>> refunded_;
  std::atomic<uint64_t> checks_{0};
  std::atomic<uint64_t> reports_{0};
  std::atomic<int64_t> reported_ns_{0};
};

}  // namespace headgate::engine
