#include "server/transport/memory_limit.h"

#include <algorithm>

namespace headgate::transport {

std::vector<int> MemoryLimit::Judge(int64_t grown, Brought brought, absl::Duration since_last) {
  if (!IsBeyond(grown)) {
    cut_at_ = 0;
    return {};
  }
  waited_ += since_last;
  const bool grows = cut_at_ == 0 || grown > cut_at_ + options_.growth / 8;
  if (!grows && waited_ < options_.patience) return {};
  cut_at_ = grown;
  waited_ = absl::ZeroDuration();
  std::vector<int> beyond = LargestHalf(std::move(brought.unanswered));
  // Memory that only does not come back is the fault of nobody who is there now.
  if (beyond.empty() && grows) beyond = LargestHalf(std::move(brought.lately));
  return beyond;
}

std::vector<int> MemoryLimit::LargestHalf(Bytes connections) const {
  std::sort(connections.begin(), connections.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  int64_t left = 0;
  for (const auto& [connection, bytes] : connections) left += bytes;
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
