#include "server/decide/line/fair_queue.h"

#include <algorithm>
#include <cmath>

namespace headgate::line {
namespace {

// The share of what is charged that all who wait behind a higher priority get together.
constexpr double kMostForFloors = 0.5;
// From here on, those of which nothing is remembered are dropped.
constexpr size_t kMostPriorities = 64;

}  // namespace

FairQueue::Priority& FairQueue::PriorityOf(int priority) {
  const auto found = priorities_.find(priority);
  if (found != priorities_.end()) return found->second;
  if (priorities_.size() >= kMostPriorities) {
    std::erase_if(priorities_,
                  [this](const auto& each) { return tree_.DropRoot(each.second.root); });
  }
  return priorities_.emplace(priority, Priority{.root = tree_.MakeRoot()}).first->second;
}

void FairQueue::Push(uint64_t id, const engine::LineFlow& flow, double cost, uint64_t order) {
  tree_.Push(PriorityOf(flow.priority).root, id, flow, cost, order);
}

engine::LineFlow FairQueue::FlowOf(uint64_t id) const {
  const uint32_t root = tree_.RootOf(id);
  const auto its = std::find_if(priorities_.begin(), priorities_.end(),
                                [root](const auto& each) { return each.second.root == root; });
  return tree_.FlowOf(id, its->first);
}

FairQueue::Priorities::const_iterator FairQueue::NextPriority() const {
  auto next = priorities_.end();
  double most_owed = 0;
  for (auto each = priorities_.begin(); each != priorities_.end(); ++each) {
    if (!Waits(each->second)) continue;
    if (next == priorities_.end()) {
      next = each;  // the highest, which is owed nothing
    } else if (each->second.owed > most_owed) {
      next = each;
      most_owed = each->second.owed;
    }
  }
  return next;
}

std::optional<uint64_t> FairQueue::Head() const {
  const auto next = NextPriority();
  return next == priorities_.end() ? std::nullopt : tree_.Head(next->second.root);
}

double FairQueue::FloorOf(size_t competing) const {
  if (competing < 2) return priority_floor_;
  return std::min(priority_floor_, kMostForFloors / static_cast<double>(competing - 1));
}

void FairQueue::Charge(const engine::LineFlow& flow, double cost) {
  tree_.Charge(PriorityOf(flow.priority).root, flow, cost);
  const auto competes = [&](const auto& each) {
    return each.first == flow.priority || Waits(each.second);
  };
  const auto competing = std::count_if(priorities_.begin(), priorities_.end(), competes);
  const double earned = FloorOf(static_cast<size_t>(competing)) * cost;
  bool behind = false;
  for (auto& each : priorities_) {
    double& owed = each.second.owed;
    if (!competes(each)) {
      owed = std::min(owed, 0.0);  // it asks for nothing
      continue;
    }
    if (!behind) owed = std::min(owed, 0.0);
    if (behind) owed += earned;
    if (behind && each.first == flow.priority) owed = std::max(owed - cost, -cost);
    behind = true;
  }
}

void FairQueue::Adjust(uint64_t leaf_key, double delta) {
  uint32_t latest = FlowTree::kNone;
  for (const auto& [priority, each] : priorities_) {
    const uint32_t flow = tree_.Find(each.root, leaf_key);
    if (flow == FlowTree::kNone) continue;
    if (latest == FlowTree::kNone || tree_.ChargedAt(flow) > tree_.ChargedAt(latest)) latest = flow;
  }
  if (latest != FlowTree::kNone) tree_.Adjust(latest, delta);
}

Ahead FairQueue::AheadOf(uint64_t id) const {
  const uint32_t root = tree_.RootOf(id);
  if (root == FlowTree::kNone) return {};
  Ahead ahead = tree_.AheadOf(id);
  Ahead higher;
  Ahead lower;
  double owed = 0;
  size_t competing = 0;
  size_t below = 0;
  bool seen = false;
  for (const auto& [priority, each] : priorities_) {
    if (!Waits(each)) continue;
    ++competing;
    if (each.root == root) {
      seen = true;
      owed = each.owed;
      continue;
    }
    Ahead& side = seen ? lower : higher;
    below += seen ? 1 : 0;
    side.cost += tree_.backlog(each.root);
    side.checks += static_cast<double>(tree_.waiting(each.root));
  }
  const double floor = FloorOf(competing);
  const auto add = [&ahead](const Ahead& side, double cost) {
    if (side.cost <= 0) return;
    const double part = std::clamp(cost / side.cost, 0.0, 1.0);
    ahead.cost += side.cost * part;
    ahead.checks += side.checks * part;
  };
  const double own = ahead.cost;
  // Its floor lets its own through once it is owed more than they cost, if not all higher go first.
  if (floor > 0) add(higher, std::max((own - owed) / floor - own, 0.0));
  if (floor <= 0) add(higher, higher.cost);
  // Meanwhile the lower ones get their floors.
  const double floors = floor * static_cast<double>(below);
  add(lower, own * floors / (1 - floors));
  return ahead;
}

size_t FairQueue::Position(uint64_t id) const {
  if (tree_.RootOf(id) == FlowTree::kNone) return 0;
  if (Head() == id) return 1;
  const double before = std::clamp(AheadOf(id).checks, 1.0, static_cast<double>(size() - 1));
  return 1 + static_cast<size_t>(std::llround(before));
}

std::vector<uint64_t> FairQueue::Next(size_t most) const {
  FairQueue copy = *this;
  std::vector<uint64_t> ids;
  while (ids.size() < most && copy.size() > 0) {
    const auto next = copy.NextPriority();
    ids.push_back(*copy.tree_.Head(next->second.root));
    copy.Charge(copy.tree_.FlowOf(ids.back(), next->first), copy.tree_.CostOf(ids.back()));
    copy.Remove(ids.back());
  }
  return ids;
}

size_t FairQueue::bytes() const {
  return tree_.bytes() + priorities_.size() * (sizeof(Priorities::value_type) + 4 * sizeof(void*));
}

}  // namespace headgate::line
