// FairQueue: who of those that wait in one line is next.
//
// The higher priority goes first, and within a priority the flow that has had least for its weight,
// level by level (flow_tree.h); within one identity, who has the least `order`.
//
// A priority that waits behind a higher one is owed its floor of whatever is charged meanwhile;
// once that is more than nothing it goes first, and what it is charged is taken from what it is
// owed. So it gets its floor to within one Check. It never owes back more than its last Check. All
// floors together are at most a half. What Reports add counts for the shares, but not for the
// floors.
//
// Work-conserving: there is a head whenever somebody waits. Removing the head without a Charge
// leaves its flow where it was. Whoever is charged need not have been the head, nor have waited
// here: it moves the tags alike. It makes no difference whether a Check is charged before or after
// it is removed.
//
// Memory is bounded by `max_flows`, over all priorities, and by the most that waited at once. What
// is forgotten so has little to lose: see flow_tree.h.
//
// Deterministic, whatever the keys hash to. Push, Remove, Charge and Adjust take O(depth * log n +
// priorities). Costs are in any one unit, 0 to 1e18. Thread-compatible.
//
//   FairQueue queue({.priority_floor = 0.05});
//   queue.Push(ticket, flow, cost, arrival);
//   if (auto head = queue.Head()) { queue.Charge(flow, cost); queue.Remove(*head); }

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "server/decide/engine/line_interface.h"
#include "server/decide/line/flow_tree.h"

namespace headgate::line {

class FairQueue {
 public:
  struct Options {
    double priority_floor = 0.05;  // 0: a lower priority waits until no higher one does
    // Levels of identities that are remembered; more where somebody waits in each of them.
    size_t max_flows = 4096;
  };
  explicit FairQueue(const Options& options)
      : priority_floor_(options.priority_floor), tree_(options.max_flows) {}

  // Adds a Check that is not in the queue. Its levels have the weights of `flow` from now on.
  void Push(uint64_t id, const engine::LineFlow& flow, double cost, uint64_t order);
  // False: it is not in the queue.
  bool Remove(uint64_t id) { return tree_.Remove(id); }
  std::optional<uint64_t> Head() const;

  // Of one in the queue.
  engine::LineFlow FlowOf(uint64_t id) const;

  // Somebody was admitted: from the queue or past it.
  void Charge(const engine::LineFlow& flow, double cost);
  // A Report charged an identity more, or gave some of it back: in the priority in which it was
  // charged last. Nothing where it is not known.
  void Adjust(uint64_t leaf_key, double delta);

  // The cost of those who are expected to be admitted before it, if nobody came, left or reported;
  // 0 for who is not in the queue. In O(flows). Exact where all Checks cost the same and have one
  // priority, since it takes each Check of a flow for the mean of them. With costs of 1 to 100 it
  // was wrong by 1 to 2 % of all that waits in the median, and by 7 % in 95 of 100 cases at most;
  // by a half in the worst, for a low priority. Next is exact.
  double CostAhead(uint64_t id) const { return AheadOf(id).cost; }
  // Its place, likewise estimated. 1: it is the head. 0: it is not in the queue.
  size_t Position(uint64_t id) const;
  // The next ones, in the order in which they would go if nobody came, left or reported. Exact, and
  // takes a copy of the queue: for people.
  std::vector<uint64_t> Next(size_t most) const;

  size_t size() const { return tree_.size(); }
  // The ids of all who are in it, in no order.
  std::vector<uint64_t> Ids() const { return tree_.Ids(); }
  size_t flows() const { return tree_.flows(); }
  size_t bytes() const;

 private:
  struct Priority {
    uint32_t root;
    double owed = 0;  // of its floor; above 0: it goes first
  };
  // The highest first.
  using Priorities = std::map<int, Priority, std::greater<>>;

  Priority& PriorityOf(int priority);
  bool Waits(const Priority& priority) const { return tree_.waiting(priority.root) > 0; }
  // That is next; end: nobody waits.
  Priorities::const_iterator NextPriority() const;
  // The floor of one priority that waits behind others, where so many compete.
  double FloorOf(size_t competing) const;
  Ahead AheadOf(uint64_t id) const;

  double priority_floor_;
  FlowTree tree_;
  Priorities priorities_;
};

}  // namespace headgate::line
