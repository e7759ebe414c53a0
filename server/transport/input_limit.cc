#include "server/transport/input_limit.h"

#include <algorithm>

namespace headgate::transport {

std::vector<int> InputLimit::Judge(std::vector<Brought> brought, absl::Duration since_last) {
  const double drained =
      absl::ToDoubleSeconds(since_last) * static_cast<double>(options_.bytes_per_second);
  debt_ = std::max(0.0, debt_ - drained);
  for (const auto& [connection, bytes] : brought) debt_ += static_cast<double>(bytes);
  debt_ = std::max(0.0, debt_);
  std::vector<int> beyond;
  if (debt_ <= static_cast<double>(options_.burst)) return beyond;
  std::sort(brought.begin(), brought.end(),
            [](const Brought& a, const Brought& b) { return a.second > b.second; });
  for (const auto& [connection, bytes] : brought) {
    if (debt_ <= static_cast<double>(options_.burst)) break;
    debt_ -= static_cast<double>(bytes);
    beyond.push_back(connection);
  }
  return beyond;
}

}  // namespace headgate::transport
