#include "server/serve/transport/memory_limit.h"

#include <algorithm>

namespace headgate::transport {

bool MemoryLimit::Grows(int64_t held) {
  // Below by a little may be above again in a moment, and no more be held than before.
  if (held <= options_.growth - options_.growth / 16) least_since_cut_.reset();
  const bool grows = IsBeyond(held);
  if (grows) {
    least_since_cut_ = held;
  } else if (least_since_cut_.has_value()) {
    least_since_cut_ = std::min(*least_since_cut_, held);
  }
  return grows;
}

bool MemoryLimit::IsBeyond(int64_t held) const {
  if (held <= options_.growth) return false;
  return !least_since_cut_.has_value() || held > *least_since_cut_ + options_.growth / 8;
}

std::vector<int> MemoryLimit::Judge(int64_t held, const Brought& brought) {
  if (!Grows(held)) return {};
  std::vector<int> beyond = LargestHalf(brought.unanswered);
  if (beyond.empty() && options_.lately == Options::Lately::kGo) {
    beyond = LargestHalf(brought.lately);
  }
  return beyond;
}

std::vector<int> MemoryLimit::LargestHalf(Bytes connections) const {
  std::sort(connections.begin(), connections.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  int64_t left = 0;
  for (const auto& [connection, bytes] : connections) left += bytes;
  if (left < options_.least_in_all) return {};
  left /= 2;
  std::vector<int> largest;
  for (const auto& [connection, bytes] : connections) {
    if (left <= 0 || bytes < options_.least_brought) break;
    left -= bytes;
    largest.push_back(connection);
  }
  return largest;
}

}  // namespace headgate::transport
