// FlowTree: who of those that wait is next, by hierarchical start-time fair queueing.
//
// At each level of the identity, siblings share what their parent gets by their weights, whatever
// they ask for and however often. A flow is one level of one identity. Its tag is how much it has
// been charged, divided by its weight. Of siblings with somebody waiting the one with the least tag
// is next, and so on down to one identity, in which the order of arrival counts. The virtual time V
// of a parent is where it last served from. No tag counts for less than V: so a flow neither saves
// up what it does not ask for nor loses what it owes. With tag' = max(V of the parent, tag), at
// each level from the leaf up:
//
//   Push       where nobody waited: tag = tag'
//   Charge     V = max(V, min(tag', least tag of siblings who wait)); tag = tag' + cost / weight
//   Adjust     tag = max(V, tag' + delta / weight)
//   Remove     nothing
//
// The minimum in Charge matters for who was not next: V does not pass anybody who waits, so that
// their claims stay. Hence V is never above the tag of a flow in which somebody waits, and it makes
// no difference whether a Check is charged before or after it is removed.
//
// A flow in which nobody waits and whose tag is not above V is as good as forgotten: forgotten and
// made anew, it is where it was. When the table is full the place of such a one is taken: of the
// first kLooks flows without anybody, those that were idle longest first; if all of these still
// owe, the one that owes least is forgotten, and has that much more than its share.
//
// Checks of an identity that has others below it are a flow of their own beside those, of weight 1.
// There is a tree for each root that is made; all roots share one table.
//
// Two siblings that wait all the time are charged the same, divided by their weights, but for the
// largest cost of one Check of each, divided likewise (Goyal, Vin, Cheng: Start-time Fair Queueing,
// 1996); the hierarchy is that of Bennett and Zhang (1997).
//
// Deterministic: equal tags go by the order of the Check with which each began to wait, then by who
// began first. Push, Remove, Charge and Adjust take O(depth * log n). Thread-compatible; may be
// copied, in O(n).
//
//   FlowTree tree(4096);
//   const uint32_t root = tree.MakeRoot();
//   tree.Push(root, ticket, flow, cost, arrival);

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/line/flow_tag.h"

namespace headgate::line {

// What is expected to be admitted before a Check's own turn.
struct Ahead {
  double cost = 0;
  double checks = 0;
};

class FlowTree {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Flows that are looked at for one whose place is taken.
  static constexpr int kLooks = 16;

  // `max_flows` are remembered, levels above the leaves included. Where somebody waits in all of
  // them there are more, until the next newcomer after that.
  explicit FlowTree(size_t max_flows) : max_flows_(max_flows) {}

  uint32_t MakeRoot() { return TakePlace(); }
  // False: something is still known below it.
  bool DropRoot(uint32_t root);

  // `id` is not in the tree; `order` tells who of one identity comes first.
  void Push(uint32_t root, uint64_t id, const engine::LineFlow& flow, double cost, uint64_t order);
  // False: it does not wait here.
  bool Remove(uint64_t id);
  // Who is next.
  std::optional<uint64_t> Head(uint32_t root) const;
  void Charge(uint32_t root, const engine::LineFlow& flow, double cost);

  // The flow of the identity's own Checks; kNone: not known.
  uint32_t Find(uint32_t root, uint64_t leaf_key) const;
  // When it was charged last, on a scale that counts up; 0: never. Requires a flow that Find gave.
  uint64_t ChargedAt(uint32_t flow) const { return flows_[flow].charged_at; }
  void Adjust(uint32_t flow, double delta);

  // The root at which it waits; kNone: it does not wait.
  uint32_t RootOf(uint64_t id) const;
  // As it was pushed, of somebody who waits.
  engine::LineFlow FlowOf(uint64_t id, int priority) const;
  double CostOf(uint64_t id) const { return entries_.at(id).cost; }
  // Below its root. Zero for who does not wait. Takes time in proportion to the flows beside its
  // own. Exact where costs are alike, nobody comes, and nobody reports.
  Ahead AheadOf(uint64_t id) const;

  size_t waiting(uint32_t root) const { return flows_[root].waiting; }  // Checks
  double backlog(uint32_t root) const { return flows_[root].backlog; }  // their cost
  size_t size() const { return entries_.size(); }
  // The ids of all who wait, in no order.
  std::vector<uint64_t> Ids() const;
  size_t flows() const { return by_key_.size(); }  // that are remembered
  // About: nodes of B-trees are counted by the mean.
  size_t bytes() const;

 private:
  // Among siblings: tag, then who began to wait first.
  struct Rank {
    FlowTag tag;
    uint64_t order;
    uint64_t began_at;
    uint32_t flow;

    friend bool operator<(const Rank& a, const Rank& b) {
      if (a.tag != b.tag) return a.tag < b.tag;
      return a.order != b.order ? a.order < b.order : a.began_at < b.began_at;
    }
  };
  struct Flow {
    std::pair<uint32_t, uint64_t> key;  // root, and key of the level
    uint32_t parent = kNone;
    uint32_t children = 0;  // that are remembered
    double weight = 1;
    FlowTag tag = 0;
    FlowTag virtual_time = 0;  // of its children
    uint64_t order = 0;        // of the Check with which somebody began to wait
    uint64_t began_at = 0;     // that was
    uint64_t touched_at = 0;   // by the last call that went through it
    uint64_t charged_at = 0;
    size_t waiting = 0;                                      // Checks
    double backlog = 0;                                      // their cost
    absl::btree_set<Rank> ranks;                             // of children in which somebody waits
    absl::btree_set<std::pair<uint64_t, uint64_t>> entries;  // order and id, of one identity
  };
  struct Entry {
    uint32_t leaf;
    double cost;
    uint64_t order;
  };

  // The key of an identity's own Checks among those of the levels below it: keys of levels are odd.
  static uint64_t OwnKey(uint64_t leaf_key) { return leaf_key & ~uint64_t{1}; }

  // The flow of the identity's own Checks, made where it is not known; the levels get the weights
  // of `flow`. Nothing on its path may be forgotten until Rest.
  uint32_t Reach(uint32_t root, const engine::LineFlow& flow);
  uint32_t Reach(uint32_t parent, uint32_t root, const engine::FlowLevel& level);
  // The call is through with the flow and those above it.
  void Rest(uint32_t leaf);
  bool MayBeForgotten(uint32_t flow) const;
  void MakePlace();
  void Forget(uint32_t flow);
  uint32_t TakePlace();

  Rank RankOf(uint32_t flow) const {
    return {flows_[flow].tag, flows_[flow].order, flows_[flow].began_at, flow};
  }
  FlowTag TagNow(uint32_t flow) const {
    return std::max(flows_[flow].tag, flows_[flows_[flow].parent].virtual_time);
  }
  void SetTag(uint32_t flow, FlowTag tag);
  Ahead AheadInFlow(uint64_t id, const Entry& entry) const;

  size_t max_flows_;
  uint64_t calls_ = 0;
  std::vector<Flow> flows_;
  std::vector<uint32_t> free_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint32_t> by_key_;
  absl::flat_hash_map<uint64_t, Entry> entries_;
  // Those that may be forgotten, by when they were touched.
  absl::btree_set<std::pair<uint64_t, uint32_t>> idle_;
};

}  // namespace headgate::line
