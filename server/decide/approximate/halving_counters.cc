#include "server/decide/approximate/halving_counters.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headgate::approximate {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

}  // namespace

double HalvingCounters::Counter::Room() const {
  return std::max(full_ - static_cast<double>(entry_->count) / kPerSecond, 0.0);
}

void HalvingCounters::Counter::Add(double seconds) {
  const double sum = static_cast<double>(entry_->count) + std::ceil(seconds * kPerSecond);
  entry_->count = static_cast<uint32_t>(std::min(sum, 2.0 * kPerSecond));
}

HalvingCounters::HalvingCounters(size_t entries)
    : entries_(std::bit_ceil(std::max<size_t>(entries, kProbes))) {}

void HalvingCounters::Halve(Entry& entry, uint32_t second) {
  // Differences are right when the number of seconds has wrapped around, too.
  const auto passed = static_cast<int32_t>(second - entry.second);
  if (passed > 0) entry.count = passed < 32 ? entry.count >> passed : 0;
  entry.second = second;
}

std::optional<HalvingCounters::Counter> HalvingCounters::Find(uint64_t key, int64_t wall_ns) {
  wall_ns = std::max<int64_t>(wall_ns, 0);
  const auto second = static_cast<uint32_t>(wall_ns / kNsPerSecond);
  const double full = 1 + static_cast<double>(wall_ns % kNsPerSecond) / kNsPerSecond;
  key = std::max<uint64_t>(key, 1);
  Entry* free = nullptr;
  for (size_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries_[(key + i) & (entries_.size() - 1)];
    if (entry.key == key) {
      Halve(entry, second);
      return Counter(entry, full);
    }
    if (free != nullptr) continue;
    if (entry.key != 0) Halve(entry, second);
    if (entry.key == 0 || entry.count < kForgotten) free = &entry;
  }
  if (free == nullptr) return std::nullopt;
  *free = {.key = key, .second = second};
  return Counter(*free, full);
}

}  // namespace headgate::approximate
