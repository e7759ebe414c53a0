// BucketReference: what one bucket may admit, worked out from the limit's own words and from
// nothing that the engine computes.
//
// Each admission is remembered with what had drained in all when it was made, and with the burst
// that was in force. It counts with what was really admitted by it: of a lease the pieces that were
// spent of it, whenever that is. Of the admissions i to j, for all i <= j:
//
//   cost(i) + ... + cost(j)  <=  burst(j) + drained(j) - drained(i)
//
// which says of every interval what concepts.md says of it. It is a strict reading: what is given
// back of a lease is not added to what may be admitted, but has never been admitted.
//
// Thread-compatible. Amounts are cost units.
//
//   const BucketReference::Place place = bucket.Open(drained, burst);
//   bucket.Add(place, 3);
//   EXPECT_LE(bucket.excess(), 0);

#pragma once

#include <cstdint>
#include <deque>
#include <limits>

namespace headgate::leases {

class BucketReference {
 public:
  using Place = uint64_t;

  // An admission, of nothing yet. `drained` is no less than at the one before.
  Place Open(double drained, double burst);
  // So much more was admitted by it.
  void Add(Place place, double cost);
  // It took no more than that, as its holder said in time.
  void LowerTo(Place place, double cost);
  // From this one on they count for nothing, now or later: a server died before it had saved them.
  void Lose(Place from, double drained);
  // Likewise those that no burst limits.
  void LoseUnlimited(Place from);
  // Those before this one are not going to change any more.
  void Trim(Place before);

  Place end() const { return first_ + entries_.size(); }
  // By how much the worst interval so far is above the limit; below 0: it never was.
  double excess() const { return excess_; }

 private:
  struct Entry {
    double drained = 0;
    double burst = 0;
    double cost = 0;
    double owed = 0;  // after it, of what was admitted
    bool is_lost = false;
  };

  Entry* Find(Place place);
  // From this one on; the costs of those after it may be others now, or are what they were.
  enum class Later : uint8_t { kSame, kChanged };
  void Recount(Place place, Later later = Later::kSame);

  std::deque<Entry> entries_;
  Place first_ = 0;  // of the first entry
  // Of what was trimmed.
  double owed_before_ = 0, drained_before_ = 0;
  double excess_ = -std::numeric_limits<double>::infinity();
};

}  // namespace headgate::leases
