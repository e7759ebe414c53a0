#include "server/serve/transport/input_limit.h"

#include <algorithm>

namespace headgate::transport {

const std::vector<int>& InputLimit::Judge(const std::vector<Brought>& brought,
                                          absl::Duration since_last) {
  const double drained =
      absl::ToDoubleSeconds(since_last) * static_cast<double>(options_.bytes_per_second);
  debt_ = std::max(0.0, debt_ - drained);
  for (const auto& [connection, bytes] : brought) debt_ += static_cast<double>(bytes);
  debt_ = std::max(0.0, debt_);
  beyond_.clear();
  if (debt_ <= static_cast<double>(options_.burst)) return beyond_;
  std::vector<Brought> largest = brought;
  std::sort(largest.begin(), largest.end(),
            [](const Brought& a, const Brought& b) { return a.second > b.second; });
  for (const auto& [connection, bytes] : largest) {
    if (debt_ <= static_cast<double>(options_.burst)) break;
    debt_ -= static_cast<double>(bytes);
    beyond_.push_back(connection);
  }
  return beyond_;
}

}  // namespace headgate::transport
