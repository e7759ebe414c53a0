// The debt of one budget on one target as the reference model keeps it: a map from a bucket's name
// to the instant of health-time at which it empties.
//
// - A charge sets max(empties_at, now) + cost; a bucket that is not in the map empties at `floor`.
// - The charges of a bucket drain in their order, and each of them is remembered with the time at
//   which it ends. What has not drained of it is what lies between now and then. A refund moves
//   those behind it forward, and no other.
// - After a move, and after a restart where something in front had been refunded, the order of the
//   charges from before is not known: whatever was refunded to the bucket since counts as in front
//   of them, and what is refunded to them as in front of all others. Only a refund to the very last
//   charge of a bucket moves nobody at all.
// - When rate, clock or size change, debt and places move over in cost units, however often. When
// the split
//   changes, every bucket owes what the deepest in debt owed, and places lose their meaning.
//
// Thread-compatible.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/model_clock.h"

namespace headgate::model {

class ModelLedger {
 public:
  // What a change of makes a new ledger.
  struct Shape {
    std::shared_ptr<ModelClock> clock;
    double ns_per_unit = 0;
    bool is_auto = false;
    engine::BudgetUnit unit = engine::BudgetUnit::kCost;
    std::string split;
    size_t capacity = 0;

    bool operator==(const Shape& other) const {
      return clock == other.clock && ns_per_unit == other.ns_per_unit && unit == other.unit &&
             split == other.split && capacity == other.capacity;
    }
  };
  // Where a charge ended, and what had been refunded to its bucket before.
  struct Place {
    int64_t ended_at_ns = 0;
    int64_t refunded_ns = 0;
    std::optional<uint64_t> number;  // among the charges; none: its order is not known
  };
  // What a settlement did, in virtual nanoseconds.
  struct Settled {
    int64_t refund_ns = 0;
    int64_t extra_ns = 0;
    bool moved = false;        // the charge was made before the last move
    bool moved_often = false;  // and before the one before that
    bool overrun = false;      // it was more than one Report may charge
    bool forgiven = false;     // it would have lifted the debt above `most_ns`
  };

  // `version` is the number of the policy that brings the ledger.
  ModelLedger(Shape shape, uint64_t version, int64_t real_ns)
      : shape_(shape),
        version_(version),
        since_(version),
        opened_at_ns_(shape_.clock->VirtualAt(real_ns)) {}

  // The same debt in another shape, of that burst in its unit.
  static ModelLedger Successor(const ModelLedger& before, Shape shape, uint64_t version,
                               int64_t real_ns, double burst);

  static int64_t ToNs(double cost, double ns_per_unit);

  const Shape& shape() const { return shape_; }
  int64_t ToNs(double cost) const { return ToNs(cost, shape_.ns_per_unit); }
  int64_t BurstToNs(double burst) const;
  bool is_auto() const { return shape_.is_auto; }
  // Of a cost under a burst: what is over it by less than a millionth is the burst, unless it is
  // beyond every burst.
  int64_t FittedToNs(double cost, int64_t burst_ns) const;
  double ToUnits(int64_t ns) const { return static_cast<double>(ns) / shape_.ns_per_unit; }
  int64_t Debt(const std::string& bucket, int64_t real_ns) const;
  bool Owes(int64_t real_ns) const { return Latest() > NowAt(real_ns); }

  // How long until a debt of no more than `room_ns` is left: none where it never is.
  std::optional<int64_t> RealTimeToDebt(const std::string& bucket, int64_t room_ns,
                                        int64_t real_ns) const;

  // Whether virtual time ends with a debt of more than `room_ns`.
  bool OutlastsTime(const std::string& bucket, int64_t room_ns) const {
    return EmptiesAt(bucket) - room_ns >= ModelClock::kEndNs;
  }

  Place Charge(const std::string& bucket, int64_t cost_ns, int64_t real_ns);
  // A charge that nobody takes back, of a permit from policy `version`, as it would stand had it
  // been made `late_ns` before, so that no more debt was left then than `most_ns`. False: its
  // bucket is another one by now.
  bool ChargeLate(const std::string& bucket, uint64_t version, int64_t cost_ns, int64_t most_ns,
                  int64_t late_ns, int64_t real_ns);
  // Settles a charge of `cost` units that was made under policy `version`, so that no more debt is
  // left than `most_ns`, or than there was.
  Settled Settle(const std::string& bucket, Place place, uint64_t version, double cost,
                 double actual, std::optional<int64_t> most_ns, int64_t real_ns);
  // Such a charge's place as an engine knows it that was restarted.
  Place AfterRestart(const std::string& bucket, Place place, uint64_t version) const;

 private:
  // Of the charges whose order is known and that were not settled, in order: when each ends now.
  using Ends = std::map<uint64_t, int64_t>;
  // How times on the axis before a move read on the one after it.
  struct Move {
    uint64_t version = 0;  // of the ledger before
    int64_t then_ns = 0;
    int64_t now_ns = 0;
    double scale = 0;

    int64_t Translate(int64_t at_ns) const;
  };

  // Time from before the ledger was made is not credited.
  int64_t NowAt(int64_t real_ns) const {
    return std::max(shape_.clock->VirtualAt(real_ns), opened_at_ns_);
  }
  int64_t EmptiesAt(const std::string& bucket) const;
  int64_t Latest() const;
  int64_t RefundedTo(const std::string& bucket) const;
  // When such a charge ends, at the least.
  int64_t EndOf(const std::string& bucket, const Place& place, uint64_t version) const;
  void Refund(const std::string& bucket, const Place& place, bool is_last, int64_t refund_ns);

  Shape shape_;
  uint64_t version_;
  uint64_t since_;           // policy that brought the budget with this split
  int64_t opened_at_ns_;     // on the clock
  std::vector<Move> moves_;  // the oldest first
  int64_t floor_ns_ = 0;
  std::map<std::string, int64_t> empties_at_ns_;
  std::map<std::string, int64_t> refunded_ns_;  // but for what moved nobody
  std::map<std::string, Ends> ends_;
  uint64_t charges_ = 0;
};

}  // namespace headgate::model
