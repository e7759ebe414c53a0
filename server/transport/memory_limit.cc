#include "server/transport/memory_limit.h"

#include <algorithm>

namespace headgate::transport {

bool MemoryLimit::MustCut(int64_t grown, absl::Duration since_last) {
  if (!IsBeyond(grown)) {
    cut_at_ = 0;
    return false;
  }
  waited_ += since_last;
  const bool is_first = cut_at_ == 0;
  const bool grows_on = grown > cut_at_ + options_.growth / 8;
  return is_first || grows_on || waited_ >= options_.patience;
}

std::vector<int> MemoryLimit::Judge(int64_t grown, std::vector<Unanswered> connections,
                                    absl::Duration since_last) {
  std::vector<int> beyond;
  if (!MustCut(grown, since_last)) return beyond;
  cut_at_ = grown;
  waited_ = absl::ZeroDuration();
  std::sort(connections.begin(), connections.end(),
            [](const Unanswered& a, const Unanswered& b) { return a.second > b.second; });
  int64_t left = 0;
  for (const auto& [connection, bytes] : connections) left += bytes;
  left /= 2;
  for (const auto& [connection, bytes] : connections) {
    if (left <= 0 || bytes < options_.least_unanswered) break;
    left -= bytes;
    beyond.push_back(connection);
  }
  return beyond;
}

}  // namespace headgate::transport
