#include "tests/sim/leases/bucket_reference.h"

#include <algorithm>

namespace headgate::leases {

BucketReference::Place BucketReference::Open(double drained, double burst) {
  entries_.push_back({.drained = drained, .burst = burst});
  const Place place = end() - 1;
  Recount(place);
  return place;
}

BucketReference::Entry* BucketReference::Find(Place place) {
  if (place < first_ || place >= end()) return nullptr;
  Entry& entry = entries_[place - first_];
  return entry.is_lost ? nullptr : &entry;
}

void BucketReference::Add(Place place, double cost) {
  Entry* const entry = Find(place);
  if (entry == nullptr) return;
  entry->cost += cost;
  Recount(place);
}

void BucketReference::LowerTo(Place place, double cost) {
  Entry* const entry = Find(place);
  if (entry == nullptr || entry->cost <= cost) return;
  entry->cost = cost;
  Recount(place);
}

void BucketReference::Lose(Place from, double drained) {
  for (Place place = std::max(from, first_); place < end(); ++place) {
    entries_[place - first_] = {.drained = drained, .is_lost = true};
  }
  if (from < end()) Recount(std::max(from, first_), Later::kChanged);
}

void BucketReference::LoseUnlimited(Place from) {
  for (Place place = std::max(from, first_); place < end(); ++place) {
    Entry& entry = entries_[place - first_];
    if (entry.burst < std::numeric_limits<double>::infinity()) continue;
    entry.cost = 0;
    entry.is_lost = true;
  }
  if (from < end()) Recount(std::max(from, first_), Later::kChanged);
}

void BucketReference::Trim(Place before) {
  while (!entries_.empty() && first_ < before) {
    owed_before_ = entries_.front().owed;
    drained_before_ = entries_.front().drained;
    entries_.pop_front();
    ++first_;
  }
}

void BucketReference::Recount(Place place, Later later) {
  const auto at = static_cast<size_t>(place - first_);
  double owed = at == 0 ? owed_before_ : entries_[at - 1].owed;
  double drained = at == 0 ? drained_before_ : entries_[at - 1].drained;
  for (size_t i = at; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    owed = std::max(owed - (entry.drained - drained), 0.0) + entry.cost;
    drained = entry.drained;
    if (later == Later::kSame && i > at && owed == entry.owed) return;
    entry.owed = owed;
    if (!entry.is_lost) excess_ = std::max(excess_, owed - entry.burst);
  }
}

}  // namespace headgate::leases
