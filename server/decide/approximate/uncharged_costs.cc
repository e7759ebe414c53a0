#include "server/decide/approximate/uncharged_costs.h"

#include <algorithm>

namespace headgate::approximate {
namespace {

constexpr double kNsOfSecond = 1e9;
// About 73 years: a cost that drains in more is as good as one that never does.
constexpr double kLongestNs = 0x1p61;

}  // namespace

bool UnchargedCosts::Add(std::string_view target, const Admitted& admitted, int64_t now_ns) {
  auto of = targets_.find(target);
  if (of == targets_.end()) of = targets_.emplace(std::string(target), Buckets()).first;
  Bucket bucket(admitted.budget, admitted.bucket);
  auto found = of->second.find(bucket);
  if (found == of->second.end()) {
    if (size_ >= most_) {
      if (of->second.empty()) targets_.erase(of);
      return false;
    }
    found = of->second.emplace(std::move(bucket), Cost{.first_ns = now_ns}).first;
    ++size_;
  }
  Cost& cost = found->second;
  cost.sum += admitted.cost;
  cost.share = admitted.share;
  const double drains_in_ns = std::min(admitted.cost / admitted.share * kNsOfSecond, kLongestNs);
  cost.drained_at_ns = std::max(cost.drained_at_ns, now_ns) + static_cast<int64_t>(drains_in_ns);
  cost.drained_at_ns = std::min(cost.drained_at_ns, now_ns + static_cast<int64_t>(kLongestNs));
  return true;
}

std::vector<UnchargedCost> UnchargedCosts::Take(const std::string& target, size_t most,
                                                int64_t now_ns) {
  std::vector<UnchargedCost> taken;
  const auto of = targets_.find(target);
  if (of == targets_.end()) return taken;
  Buckets& buckets = of->second;
  while (!buckets.empty() && taken.size() < most) {
    const auto& [bucket, cost] = *buckets.begin();
    const double left_s =
        static_cast<double>(std::max<int64_t>(cost.drained_at_ns - now_ns, 0)) / kNsOfSecond;
    taken.push_back({.budget = bucket.first,
                     .bucket = bucket.second,
                     .cost = cost.sum,
                     .undrained = std::min(left_s * cost.share, cost.sum),
                     .first_ns = cost.first_ns});
    buckets.erase(buckets.begin());
    --size_;
  }
  if (buckets.empty()) targets_.erase(of);
  return taken;
}

std::vector<std::string> UnchargedCosts::Targets() const {
  std::vector<std::string> targets;
  targets.reserve(targets_.size());
  for (const auto& [target, buckets] : targets_) targets.push_back(target);
  return targets;
}

}  // namespace headgate::approximate
