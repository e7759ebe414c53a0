// What one budget is owed on one target: its buckets, the clock they live on, and what a cost unit
// is worth there.
//
// A ledger's axis (clock, nanoseconds of virtual time for a cost unit) never changes. A reload that
// changes the rate, the health profile or the number of buckets makes a successor and moves the
// debt over in cost units, so nobody owes more or less than before. A reload that changes the
// *split* cannot say whose debt is whose: every bucket of the successor then starts with the
// largest debt that any bucket had. One that changes the *unit* cannot say what a debt is worth: it
// takes as long to drain as before, where an auto rate counts as 1, but no bucket owes more than
// its burst; and charges from before are left as they are. While a move runs, a Check that meets a
// moved bucket waits for the new policy.
//
// Refunds take back only what has not drained. A permit remembers where its charge ended on the
// axis; what lies beyond now has not drained yet. Refunds to charges that stood in front have moved
// it forward: by what its bucket has refunded since (see bucket_table.h), less what is known to
// have gone to charges behind (see refund_order.h). A refund to the last charge of a bucket moves
// nobody, so mostly there is nothing to know. Where the order is not known, after a restart or a
// move, all refunds since are taken to have been in front.
//
// Thread-safe, except that a move belongs to one thread at a time (the engine's installer).

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "server/decide/engine/bucket_table.h"
#include "server/decide/engine/refund_orders.h"
#include "server/decide/engine/refund_total.h"
#include "server/decide/engine/spec.h"
#include "server/decide/engine/virtual_clock.h"

namespace headgate::engine {

struct SavedDebts;
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
    BudgetUnit unit = BudgetUnit::kCost;

    // The speed of its clock; that of an auto budget at a rate of one unit a second.
    double UsualSpeed() const { return is_auto ? kAutoSpeed : 1; }
  };
  // A unit of an auto budget is 1/128 s of its clock and not a second, so that at a thousand units
  // a second the clock lasts for years and not for a fortnight. A power of two keeps rates exact.
  static constexpr double kAutoNsPerUnit = 1e9 / 128;
  // The speed of an auto budget's clock at a rate of one unit a second.
  static constexpr double kAutoSpeed = kAutoNsPerUnit / 1e9;

  // How the budget is split, and which policy made the ledger, when.
  struct Layout {
    size_t buckets = 0;      // 0: one bucket for the whole budget, whose tag is kSingleTag
    std::string split = {};  // only tells whether two ledgers split alike
    uint64_t version = 0;    // of the policy
    int64_t real_now_ns = 0;
  };
  // `orders` outlives the ledger.
  Ledger(Axis axis, Layout layout, RefundOrders& orders);

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

  Bucket* Find(uint64_t tag) { return table_ == nullptr ? &single_ : table_->Find(tag); }
  // When `tag`'s bucket empties, or would if it were made now. May be Bucket::kMoved.
  int64_t EmptiesAt(uint64_t tag, int64_t now_ns) const;
  // Charges `tag`'s bucket, which is made if need be. Never kEvicted.
  ChargeResult Charge(uint64_t tag, int64_t now_ns, int64_t cost_ns, int64_t burst_ns);

  // Charges as much of `cost_ns` as lifts the debt to no more than `most_ns`: `charged_ns`.
  // kOverBurst: nothing at all.
  ChargeResult ChargeUpTo(uint64_t tag, int64_t now_ns, int64_t cost_ns, int64_t most_ns,
                          int64_t& charged_ns);

  // Where a charge stood when it was made.
  struct Charged {
    uint64_t tag = 0;
    int64_t ended_at_ns = 0;  // ChargeResult::empties_at of the charge
    int64_t refunded_ns = 0;  // ChargeResult::refunded_ns likewise
    // What a refund since then may have moved it by, for each nanosecond that is counted: more than
    // 1 after a move that made nanoseconds of the old axis longer.
    double moved_by = 1;
  };
  // Takes back up to `refund_ns` of a charge of `charged_ns`, and no more than has not drained yet.
  // Returns what was taken back; kMoved as -1.
  int64_t Refund(const Charged& charged, int64_t charged_ns, int64_t refund_ns, int64_t now_ns);
  // Takes all of a charge back that was made for a Check which is then refused.
  void Undo(const Charged& charged, int64_t charged_ns);

  // Moves the debt to `successor`. Both times are read at `real_now_ns`. Where the unit changes, no
  // bucket there owes more than `burst_ns`.
  void MoveTo(Ledger& successor, int64_t real_now_ns, int64_t burst_ns = kMaxSpanNs);
  // Whether the charges of a permit that was issued under policy `version` are this budget's, split
  // as it is now: if not, its tags mean nothing here.
  bool Knows(uint64_t version) const { return version >= lineage_; }
  // Translates such a charge's place to this ledger's axis, through all moves since. Of kMostMoves
  // is known how times read after them; only those count in which something owed had not drained.
  static constexpr size_t kMostMoves = 64;
  enum class Place : uint8_t {
    kHere,     // it is on this ledger's axis now
    kDrained,  // all that was owed then has drained
    kUnknown,
  };
  Place Translate(uint64_t version, Charged& charged) const;

  // For Engine::Save: all but name, slot and clock. `clock_ns` is a reading of the clock.
  void Save(int64_t clock_ns, SavedLedger& saved) const;
  // Makes the ledger what it was when it was saved. Totals of refunds begin at 0.
  Ledger(Axis axis, const SavedLedger& saved, RefundOrders& orders);
  // What was refunded in front of a charge, at most, since it was made under policy `version`.
  int64_t RefundedSince(uint64_t version, const Charged& charged) const;
  // What such a charge remembers after a restart, as Charged::refunded_ns.
  static int64_t StampAfterRestart(int64_t refunded_since_ns);

  // Takes over what another engine's ledger of this budget is owed, in place of what this one is;
  // null: nothing is known. Each bucket is then owed at least `least_ns`. Where the two are split
  // differently, or in another unit, what is not known is as in MoveTo. Returns where charges of
  // that ledger stand: nowhere, if their buckets are not known.
  struct Adopted {
    bool knows_places = false;
    double scale = 1;  // nanoseconds here for one there
    int64_t now_ns = 0;
  };
  Adopted Adopt(const SavedDebts* saved, int64_t least_ns, int64_t burst_ns, int64_t real_now_ns);

  bool Owes(int64_t real_now_ns) const;
  // The largest debt of any bucket.
  int64_t LargestDebt(int64_t now_ns) const;

  // Busy seconds that a chunk of an auto budget should take; 0: as usual. relaxed: advice orders
  // nothing.
  void AdviseChunk(double seconds) { chunk_seconds_.store(seconds, std::memory_order_relaxed); }
  double chunk_seconds() const { return chunk_seconds_.load(std::memory_order_relaxed); }
  // What may be owed where a Check begins, whatever its burst would allow: of an auto budget, so
  // that chunks start one after another. relaxed: likewise.
  void SetStartLevel(double units) {
    start_level_ns_.store(ToNs(units), std::memory_order_relaxed);
  }
  int64_t start_level_ns() const { return start_level_ns_.load(std::memory_order_relaxed); }
  // Permits of an auto budget that may be out at once. relaxed: likewise.
  void LimitPermits(int64_t most) { most_permits_.store(most, std::memory_order_relaxed); }
  int64_t most_permits() const { return most_permits_.load(std::memory_order_relaxed); }

  // Of an auto budget, busy seconds a second that its controller lets it have over time, whatever
  // its clock does just now, below 0: not known; and whether Reports that say too little are
  // believed. relaxed: likewise.
  void ShowRate(double rate) { shown_rate_.store(rate, std::memory_order_relaxed); }
  double shown_rate() const { return shown_rate_.load(std::memory_order_relaxed); }
  void DistrustReports(bool does) { distrusts_reports_.store(does, std::memory_order_relaxed); }
  bool distrusts_reports() const { return distrusts_reports_.load(std::memory_order_relaxed); }

  // Of an auto budget: how often its controller paused it, or announced its next change, for an
  // earlier instant than it had announced: what was let go until then is late. relaxed: likewise.
  void NoteEarlyChange() { early_changes_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t early_changes() const { return early_changes_.load(std::memory_order_relaxed); }

  // Of a budget of busy time: the share of what is reported or predicted that it is charged, where
  // sessions wait for a processor that others have. relaxed: likewise.
  void ChargeShare(double share) { charged_share_.store(share, std::memory_order_relaxed); }
  double charged_share() const { return charged_share_.load(std::memory_order_relaxed); }

  // What an auto budget's controller wants to know. relaxed: counts that order nothing.
  void CountCheck() { checks_.fetch_add(1, std::memory_order_relaxed); }
  void CountReport(double busy_seconds) {
    reports_.fetch_add(1, std::memory_order_relaxed);
    reported_ns_.fetch_add(ToNs(std::min(busy_seconds, kMaxCounted)), std::memory_order_relaxed);
  }
  // Reports that were not charged in full, and what they were not charged, in units.
  void CountOverrun(double beyond) {
    overruns_.fetch_add(1, std::memory_order_relaxed);
    overrun_sum_.fetch_add(beyond, std::memory_order_relaxed);
  }
  uint64_t overruns() const { return overruns_.load(std::memory_order_relaxed); }
  double overrun_sum() const { return overrun_sum_.load(std::memory_order_relaxed); }

  // Takes what a bucket owes, and `most_ns` at most. Returns how much; kMoved as -1. Charges from
  // before count as refunded.
  int64_t Forgive(uint64_t tag, int64_t now_ns, int64_t most_ns);

  uint64_t checks() const { return checks_.load(std::memory_order_relaxed); }
  uint64_t reports() const { return reports_.load(std::memory_order_relaxed); }
  double reported_cost() const { return ToUnits(reported_ns_.load(std::memory_order_relaxed)); }

 private:
  static constexpr double kMaxCounted = 1e6;  // of one Report: a sum must not overflow

  // What the orders of refunds know a bucket by: its tag, which is well mixed or kSingleTag, and no
  // other ledger's.
  uint64_t OrderKeyOf(uint64_t tag) const { return tag ^ order_salt_; }
  static bool KnowsOrder(const Charged& charged) {
    return charged.moved_by == 1 && (charged.refunded_ns & kOrderUnknown) == 0;
  }
  static int64_t PlaceOf(const Charged& charged) {
    return AddToTotal(charged.refunded_ns & kTotalMask, charged.ended_at_ns);
  }
  // No later than the charge ends now, given its bucket's total and what of it went behind it.
  static int64_t EndOf(const Charged& charged, int64_t refunded_ns, int64_t behind_ns);

  // How times on the predecessor's axis read on this one.
  struct Origin {
    uint64_t version = 0;  // of the predecessor
    int64_t then_ns = 0, now_ns = 0;
    double scale = 0;
    // When all that was owed then will have drained, at the latest: on the axis of the ledger that
    // remembers it.
    int64_t drained_at_ns = std::numeric_limits<int64_t>::max();
    int64_t Translate(int64_t at_ns) const;
  };
  using Origins = std::vector<Origin>;
  // Lets the successor know of this ledger's moves, and of the one to it.
  void HandOnMoves(const Origin& move, Ledger& successor) const;
  // The first move since such a charge; end: it is not remembered.
  Origins::const_iterator FirstMoveSince(uint64_t version) const;

  const Axis axis_;
  const std::string split_;
  const uint64_t version_;
  int64_t opened_at_ns_;     // on the clock
  uint64_t lineage_;         // version of the first ledger of this budget with this split
  Origins origins_;          // the moves that made it what it is, the oldest first
  uint64_t unknown_before_;  // of charges from before this version, moves are not remembered
  Bucket single_;
  const std::unique_ptr<BucketTable> table_;
  RefundOrders& orders_;
  const uint32_t number_;  // in `orders_`
  const uint64_t order_salt_;
  std::atomic<uint64_t> checks_{0};
  std::atomic<uint64_t> reports_{0};
  std::atomic<double> chunk_seconds_{0};
  std::atomic<int64_t> start_level_ns_{kMaxSpanNs};
  std::atomic<int64_t> most_permits_{std::numeric_limits<int64_t>::max()};
  std::atomic<double> shown_rate_{-1};
  std::atomic<bool> distrusts_reports_{false};
  std::atomic<uint64_t> early_changes_{0};
  std::atomic<double> charged_share_{1};
  std::atomic<int64_t> reported_ns_{0};
  std::atomic<uint64_t> overruns_{0};
  std::atomic<double> overrun_sum_{0};
};

}  // namespace headgate::engine
