// What is expected to be admitted before somebody's turn.

#include <algorithm>
#include <cmath>

#include "server/decide/line/flow_tree.h"

namespace headgate::line {
namespace {

// So many of one identity's Checks are counted; more are taken for as costly as the mean.
constexpr int kCounted = 256;

}  // namespace

Ahead FlowTree::AheadInFlow(uint64_t id, const Entry& entry) const {
  const Flow& flow = flows_[entry.leaf];
  Ahead ahead;
  int counted = 0;
  for (const auto& [order, other] : flow.entries) {
    if (other == id) return ahead;
    if (++counted > kCounted) break;
    ahead.cost += entries_.at(other).cost;
    ++ahead.checks;
  }
  // Most who ask have come last.
  Ahead behind;
  counted = 0;
  for (auto each = flow.entries.rbegin(); each != flow.entries.rend(); ++each) {
    behind.cost += entries_.at(each->second).cost;
    ++behind.checks;
    if (each->second == id) {
      return {.cost = std::max(flow.backlog - behind.cost, ahead.cost),
              .checks = static_cast<double>(flow.waiting) - behind.checks};
    }
    if (++counted > kCounted) break;
  }
  const double first = static_cast<double>(flow.entries.begin()->first);
  const double last = static_cast<double>(flow.entries.rbegin()->first);
  const double part = (static_cast<double>(entry.order) - first) / std::max(last - first, 1.0);
  return {.cost = flow.backlog * part, .checks = static_cast<double>(flow.waiting) * part};
}

Ahead FlowTree::AheadOf(uint64_t id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  Ahead ahead = AheadInFlow(id, entry);
  for (uint32_t at = entry.leaf; flows_[at].parent != kNone; at = flows_[at].parent) {
    const Flow& its = flows_[at];
    Rank turn = RankOf(at);
    turn.tag += FlowTagOf(ahead.cost, its.weight);
    for (const Rank& rank : flows_[its.parent].ranks) {
      if (!(rank < turn)) break;
      const Flow& sibling = flows_[rank.flow];
      if (rank.flow == at) continue;
      if (sibling.backlog <= 0) {
        ahead.checks += static_cast<double>(sibling.waiting);  // they cost nothing, and go first
        continue;
      }
      // Whoever begins before the turn is served to its end.
      const double mean = sibling.backlog / static_cast<double>(sibling.waiting);
      const double until_turn = CostOfFlowTag(turn.tag - rank.tag, sibling.weight);
      const double begun = rank.order < turn.order ? std::floor(until_turn / mean) + 1
                                                   : std::ceil(until_turn / mean);
      const double checks = std::clamp(begun, 1.0, static_cast<double>(sibling.waiting));
      ahead.cost += checks * mean;
      ahead.checks += checks;
    }
  }
  return ahead;
}

}  // namespace headgate::line
