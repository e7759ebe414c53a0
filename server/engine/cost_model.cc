#include "server/engine/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headgate::engine {
namespace {

constexpr uint32_t kMemory = 8;
// Keeps 0 x ratio a number.
constexpr float kMaxRatio = 1e30F;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

}  // namespace

CostModel::CostModel(size_t patterns)
    : sets_(std::make_unique<Set[]>(std::bit_ceil(std::max<size_t>(patterns / kWays, 1)))),
      mask_(std::bit_ceil(std::max<size_t>(patterns / kWays, 1)) - 1) {}

void CostModel::Average::Add(double sample) {
  count = std::min(count + 1, kMemory);
  value += static_cast<float>((sample - static_cast<double>(value)) / count);
}

uint64_t CostModel::PublishedOf(const Cell& cell) {
  const float ratio = cell.estimate.value > 0
                          ? std::min(cell.actual.value / cell.estimate.value, kMaxRatio)
                          : kUnknown;
  return std::bit_cast<uint64_t>(Published{ratio, std::max(cell.mean.value, 0.0F)});
}

std::optional<double> CostModel::Ratio(uint64_t key) const {
  Published known;
  if (!Read(key, known) || std::isnan(known.ratio)) return std::nullopt;
  return known.ratio;
}

void CostModel::Learn(uint64_t target, uint64_t pattern, double estimate, double actual) {
  if (pattern != 0) LearnOne(pattern, estimate, actual);
  LearnOne(target, estimate, actual);
}

void CostModel::LearnOne(uint64_t key, double estimate, double actual) {
  Set& set = SetOf(key);
  MutexLock lock(&locks_[(key >> 20) & mask_ & (kStripes - 1)]);
  Cell* cell = &set.ways[0];
  for (Cell& candidate : set.ways) {
    if (candidate.key.load(std::memory_order_relaxed) == key) {
      cell = &candidate;
      break;
    }
    if (candidate.learnt_at < cell->learnt_at) cell = &candidate;
  }
  if (cell->key.load(std::memory_order_relaxed) != key) {
    // No key while the contents change owner, so that no reader pairs old and new.
    cell->key.store(0, std::memory_order_relaxed);
    cell->estimate = cell->actual = cell->mean = Average{};
  }
  cell->learnt_at = reports_.fetch_add(1, std::memory_order_relaxed) + 1;
  cell->mean.Add(actual);
  if (estimate >= 0) {
    cell->estimate.Add(estimate);
    cell->actual.Add(actual);
  }
  // release, in this order: a reader that sees this word has seen the key cleared.
  cell->published.store(PublishedOf(*cell), std::memory_order_release);
  cell->key.store(key, std::memory_order_release);
}

}  // namespace headgate::engine
