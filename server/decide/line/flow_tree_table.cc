// FlowTree's table: which flows are remembered.

#include <cassert>

#include "server/decide/line/flow_tree.h"

namespace headgate::line {

uint32_t FlowTree::Reach(uint32_t root, const engine::LineFlow& flow) {
  ++calls_;
  uint32_t at = root;
  for (int level = 0; level < flow.depth; ++level) {
    at = Reach(at, root, flow.levels[static_cast<size_t>(level)]);
  }
  return Reach(at, root, {.key = OwnKey(flow.LeafKey()), .weight = 1});
}

uint32_t FlowTree::Reach(uint32_t parent, uint32_t root, const engine::FlowLevel& level) {
  const std::pair<uint32_t, uint64_t> key{root, level.key};
  uint32_t flow = kNone;
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    flow = found->second;
    if (MayBeForgotten(flow)) idle_.erase({flows_[flow].touched_at, flow});
  } else {
    // The parent has a child already, so that it is not idle when it loses its last other one.
    ++flows_[parent].children;
    MakePlace();
    flow = TakePlace();
    by_key_.emplace(key, flow);
    flows_[flow].key = key;
    flows_[flow].parent = parent;
  }
  flows_[flow].weight = level.weight;
  return flow;
}

void FlowTree::Rest(uint32_t leaf) {
  for (uint32_t at = leaf; flows_[at].parent != kNone; at = flows_[at].parent) {
    flows_[at].touched_at = calls_;
  }
  if (MayBeForgotten(leaf)) idle_.emplace(calls_, leaf);
}

std::vector<uint64_t> FlowTree::Ids() const {
  std::vector<uint64_t> ids;
  ids.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  return ids;
}

bool FlowTree::MayBeForgotten(uint32_t flow) const {
  const Flow& its = flows_[flow];
  return its.parent != kNone && its.waiting == 0 && its.children == 0;
}

void FlowTree::MakePlace() {
  while (by_key_.size() >= max_flows_ && !idle_.empty()) {
    uint32_t least = kNone;
    FlowTag least_owed = 0;
    int looks = 0;
    for (auto each = idle_.begin(); each != idle_.end() && looks < kLooks; ++each, ++looks) {
      const Flow& its = flows_[each->second];
      const FlowTag owed = its.tag - flows_[its.parent].virtual_time;
      if (least != kNone && owed >= least_owed) continue;
      least = each->second;
      least_owed = owed;
      if (owed <= 0) break;
    }
    Forget(least);
  }
}

void FlowTree::Forget(uint32_t flow) {
  const uint32_t parent = flows_[flow].parent;
  idle_.erase({flows_[flow].touched_at, flow});
  by_key_.erase(flows_[flow].key);
  flows_[flow] = Flow();
  free_.push_back(flow);
  --flows_[parent].children;
  if (MayBeForgotten(parent)) idle_.emplace(flows_[parent].touched_at, parent);
}

uint32_t FlowTree::TakePlace() {
  if (free_.empty()) {
    flows_.emplace_back();
    return static_cast<uint32_t>(flows_.size() - 1);
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  return place;
}

size_t FlowTree::bytes() const {
  constexpr size_t kOfElement = 48;  // of a rank, an entry or an idle flow in its B-tree
  return flows_.capacity() * sizeof(Flow) + free_.capacity() * sizeof(uint32_t) +
         by_key_.capacity() * (sizeof(*by_key_.begin()) + 1) +
         entries_.capacity() * (sizeof(*entries_.begin()) + 1) +
         (entries_.size() + by_key_.size()) * kOfElement;
}

}  // namespace headgate::line
