// Invariants, between calls:
// - A flow is in its parent's `ranks` exactly while somebody waits in it. Its rank then has the
//   flow's present tag, and that tag is not below the parent's virtual time.
// - idle_ has all flows in which nobody waits and which have no children, except for the roots, and
//   no others.
// - No two flows in idle_ have the same touched_at, because each call touches the flows of one path
//   from a root to a leaf, and at most one flow of a path is without children.

#include "server/decide/line/flow_tree.h"

#include <cassert>

namespace headgate::line {

bool FlowTree::DropRoot(uint32_t root) {
  assert(flows_[root].parent == kNone);
  if (flows_[root].waiting > 0 || flows_[root].children > 0) return false;
  flows_[root] = Flow();
  free_.push_back(root);
  return true;
}

void FlowTree::Push(uint32_t root, uint64_t id, const engine::LineFlow& flow, double cost,
                    uint64_t order) {
  assert(!entries_.contains(id));
  const uint32_t leaf = Reach(root, flow);
  entries_.emplace(id, Entry{leaf, cost, order});
  flows_[leaf].entries.emplace(order, id);
  for (uint32_t at = leaf; at != kNone; at = flows_[at].parent) {
    Flow& its = flows_[at];
    its.backlog += cost;
    if (its.waiting++ > 0 || its.parent == kNone) continue;
    its.tag = TagNow(at);
    its.order = order;
    its.began_at = calls_;
    flows_[its.parent].ranks.insert(RankOf(at));
  }
  Rest(leaf);
}

bool FlowTree::Remove(uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  ++calls_;
  const Entry entry = found->second;
  entries_.erase(found);
  flows_[entry.leaf].entries.erase({entry.order, id});
  for (uint32_t at = entry.leaf; at != kNone; at = flows_[at].parent) {
    Flow& its = flows_[at];
    // Sums of doubles drift: nobody's cost is nothing.
    its.backlog = --its.waiting == 0 ? 0 : its.backlog - entry.cost;
    if (its.waiting == 0 && its.parent != kNone) flows_[its.parent].ranks.erase(RankOf(at));
  }
  Rest(entry.leaf);
  return true;
}

std::optional<uint64_t> FlowTree::Head(uint32_t root) const {
  if (flows_[root].waiting == 0) return std::nullopt;
  uint32_t at = root;
  while (flows_[at].entries.empty()) at = flows_[at].ranks.begin()->flow;
  return flows_[at].entries.begin()->second;
}

void FlowTree::Charge(uint32_t root, const engine::LineFlow& flow, double cost) {
  const uint32_t leaf = Reach(root, flow);
  flows_[leaf].charged_at = calls_;
  for (uint32_t at = leaf; at != root; at = flows_[at].parent) {
    Flow& parent = flows_[flows_[at].parent];
    const FlowTag tag = TagNow(at);
    FlowTag served_from = tag;
    if (!parent.ranks.empty()) served_from = std::min(served_from, parent.ranks.begin()->tag);
    parent.virtual_time = std::max(parent.virtual_time, served_from);
    SetTag(at, tag + FlowTagOf(cost, flows_[at].weight));
  }
  Rest(leaf);
}

uint32_t FlowTree::Find(uint32_t root, uint64_t leaf_key) const {
  const auto found = by_key_.find({root, OwnKey(leaf_key)});
  return found == by_key_.end() ? kNone : found->second;
}

void FlowTree::Adjust(uint32_t flow, double delta) {
  ++calls_;
  if (MayBeForgotten(flow)) idle_.erase({flows_[flow].touched_at, flow});
  for (uint32_t at = flow; flows_[at].parent != kNone; at = flows_[at].parent) {
    const FlowTag moved = TagNow(at) + FlowTagOf(delta, flows_[at].weight);
    SetTag(at, std::max(moved, flows_[flows_[at].parent].virtual_time));
  }
  Rest(flow);
}

void FlowTree::SetTag(uint32_t flow, FlowTag tag) {
  Flow& its = flows_[flow];
  if (its.waiting == 0) {
    its.tag = tag;
    return;
  }
  absl::btree_set<Rank>& ranks = flows_[its.parent].ranks;
  ranks.erase(RankOf(flow));
  its.tag = tag;
  ranks.insert(RankOf(flow));
}

uint32_t FlowTree::RootOf(uint64_t id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return kNone;
  return flows_[found->second.leaf].key.first;
}

engine::LineFlow FlowTree::FlowOf(uint64_t id, int priority) const {
  engine::LineFlow flow;
  flow.priority = priority;
  // Above the identity's own flow, from the leaf up.
  uint32_t path[Identity::kMaxSegments];
  for (uint32_t at = flows_[entries_.at(id).leaf].parent; flows_[at].parent != kNone;
       at = flows_[at].parent) {
    path[flow.depth++] = at;
  }
  for (int level = 0; level < flow.depth; ++level) {
    const Flow& its = flows_[path[flow.depth - 1 - level]];
    flow.levels[static_cast<size_t>(level)] = {.key = its.key.second, .weight = its.weight};
  }
  return flow;
}

}  // namespace headgate::line
