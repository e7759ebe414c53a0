// The debt of one budget on one target as the reference model keeps it: a map from a bucket's name
// to the instant of health-time at which it empties.
//
// - A charge sets max(empties_at, now) + cost; a bucket that is not in the map empties at `floor`.
// - The place of a charge is when its bucket emptied right after it. What has not drained of it is
//   what lies between now and its place, less all refunds to the bucket since.
// - When rate, clock or size change, debt and places move over in cost units. When the split
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

#include "tests/testing/model_clock.h"

namespace headgate::model {

class ModelLedger {
 public:
  // What a change of makes a new ledger.
  struct Shape {
    std::shared_ptr<ModelClock> clock;
    double ns_per_unit = 0;
    bool is_auto = false;
    std::string split;
    size_t capacity = 0;

    bool operator==(const Shape& other) const {
      return clock == other.clock && ns_per_unit == other.ns_per_unit && split == other.split &&
             capacity == other.capacity;
    }
  };
  // Where a charge ended, and what had been refunded to its bucket before.
  struct Place {
    int64_t ended_at_ns = 0;
    int64_t refunded_ns = 0;
  };
  // What a settlement did, in virtual nanoseconds.
  struct Settled {
    int64_t refund_ns = 0;
    int64_t extra_ns = 0;
    bool moved = false;    // the charge was made before the last move
    bool too_old = false;  // a refund was due but its place is not known any more
  };

  // `version` is the number of the policy that brings the ledger.
  ModelLedger(Shape shape, uint64_t version, int64_t real_ns)
      : shape_(shape),
        version_(version),
        since_(version),
        opened_at_ns_(shape_.clock->VirtualAt(real_ns)) {}

  // The same debt in another shape.
  static ModelLedger Successor(const ModelLedger& before, Shape shape, uint64_t version,
                               int64_t real_ns);

  static int64_t ToNs(double cost, double ns_per_unit);

  const Shape& shape() const { return shape_; }
  int64_t ToNs(double cost) const { return ToNs(cost, shape_.ns_per_unit); }
  int64_t BurstToNs(double burst) const;
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
  // Settles a charge of `cost` units that was made under policy `version`.
  Settled Settle(const std::string& bucket, Place place, uint64_t version, double cost,
                 double actual, int64_t real_ns);

 private:
  struct Bucket {
    int64_t empties_at_ns = 0;
    int64_t refunded_ns = 0;
  };
  // How times on the axis before the last move read on this one.
  struct Move {
    uint64_t version = 0;  // of the ledger before
    int64_t then_ns = 0;
    int64_t now_ns = 0;
    double scale = 0;
    std::map<std::string, Bucket> buckets;

    int64_t Translate(int64_t at_ns) const;
  };

  // Time from before the ledger was made is not credited.
  int64_t NowAt(int64_t real_ns) const {
    return std::max(shape_.clock->VirtualAt(real_ns), opened_at_ns_);
  }
  int64_t EmptiesAt(const std::string& bucket) const;
  int64_t Latest() const;
  // Empty where nothing of the charge can be undrained.
  std::optional<Place> OnThisAxis(const std::string& bucket, Place place, uint64_t version) const;

  Shape shape_;
  uint64_t version_;
  uint64_t since_;        // policy that brought the budget with this split
  int64_t opened_at_ns_;  // on the clock
  std::optional<Move> move_;
  int64_t floor_ns_ = 0;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace headgate::model
