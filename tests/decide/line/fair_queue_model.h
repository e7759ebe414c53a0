// What FairQueue means, said as plainly as possible and without a thought for time or memory: plain
// maps by path, and a search through all who wait for every question.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "server/decide/engine/line_interface.h"
#include "server/decide/line/flow_tag.h"

namespace headgate::line {

class FairQueueModel {
 public:
  FairQueueModel(double priority_floor, size_t max_flows)
      : floor_(priority_floor), max_flows_(max_flows) {}

  void Push(uint64_t id, const engine::LineFlow& flow, double cost, uint64_t order) {
    const Path leaf = Reach(flow);
    for (Path path = leaf; path.size() > 1; path.pop_back()) {
      if (Waits(path)) continue;
      State& its = states_[path];
      its.tag = TagNow(path);
      its.order = order;
      its.began_at = calls_;
    }
    entries_.push_back({id, leaf, cost, order});
    Touch(leaf);
  }

  bool Remove(uint64_t id) {
    for (const Entry& each : entries_) {
      if (each.id != id) continue;
      ++calls_;
      Touch(each.leaf);
    }
    return std::erase_if(entries_, [&](const Entry& each) { return each.id == id; }) > 0;
  }

  std::optional<uint64_t> Head() const {
    if (entries_.empty()) return std::nullopt;
    Path at = {Number(NextPriority())};
    for (auto children = WaitingChildren(at); !children.empty(); children = WaitingChildren(at)) {
      at = *std::min_element(children.begin(), children.end(), [&](const Path& a, const Path& b) {
        const State& first = states_.at(a);
        const State& second = states_.at(b);
        if (first.tag != second.tag) return first.tag < second.tag;
        if (first.order != second.order) return first.order < second.order;
        return first.began_at < second.began_at;
      });
    }
    const Entry* first = nullptr;
    for (const Entry& each : entries_) {
      if (each.leaf == at && (first == nullptr || each.order < first->order)) first = &each;
    }
    return first->id;
  }

  void Charge(const engine::LineFlow& flow, double cost) {
    ChargeFloors(flow.priority, cost);
    const Path leaf = Reach(flow);
    states_[leaf].charged_at = calls_;
    for (Path path = leaf; path.size() > 1; path.pop_back()) {
      State& its = states_[path];
      const FlowTag tag = TagNow(path);
      FlowTag served_from = tag;
      for (const Path& sibling : WaitingChildren(ParentOf(path))) {
        served_from = std::min(served_from, states_[sibling].tag);
      }
      FlowTag& virtual_time = states_[ParentOf(path)].virtual_time;
      virtual_time = std::max(virtual_time, served_from);
      its.tag = tag + FlowTagOf(cost, its.weight);
    }
    Touch(leaf);
  }

  void Adjust(uint64_t leaf_key, double delta) {
    // The latest; of those that were never charged, the one of the highest priority.
    std::optional<Path> leaf;
    for (const auto& [path, state] : states_) {
      if (path.size() < 2 || path.back() != OwnKey(leaf_key)) continue;
      if (!leaf.has_value() || state.charged_at >= states_[*leaf].charged_at) leaf = path;
    }
    if (!leaf.has_value()) return;
    ++calls_;
    for (Path path = *leaf; path.size() > 1; path.pop_back()) {
      State& its = states_[path];
      const FlowTag virtual_time = states_[ParentOf(path)].virtual_time;
      its.tag = std::max(TagNow(path) + FlowTagOf(delta, its.weight), virtual_time);
    }
    Touch(*leaf);
  }

  // With the weights that its levels have now.
  engine::LineFlow Weighed(engine::LineFlow flow) const {
    Path path = {Number(flow.priority)};
    for (int i = 0; i < flow.depth; ++i) {
      engine::FlowLevel& level = flow.levels[static_cast<size_t>(i)];
      path.push_back(level.key);
      level.weight = states_.at(path).weight;
    }
    return flow;
  }

  // Levels of identities that are remembered.
  size_t flows() const {
    return static_cast<size_t>(std::count_if(
        states_.begin(), states_.end(), [](const auto& each) { return each.first.size() > 1; }));
  }

 private:
  // The priority, the keys of the levels from the root, and the identity's own.
  using Path = std::vector<uint64_t>;
  struct State {
    double weight = 1;
    FlowTag tag = 0, virtual_time = 0;
    uint64_t order = 0, began_at = 0, touched_at = 0, charged_at = 0;
  };
  struct Entry {
    uint64_t id;
    Path leaf;
    double cost;
    uint64_t order;
  };

  static constexpr int kMiddle = 1 << 20;  // priorities as numbers without a sign
  static uint64_t Number(int priority) { return static_cast<uint64_t>(priority + kMiddle); }
  static int Priority(const Path& path) { return static_cast<int>(path[0]) - kMiddle; }
  static uint64_t OwnKey(uint64_t leaf_key) { return leaf_key & ~uint64_t{1}; }
  static Path ParentOf(Path path) {
    path.pop_back();
    return path;
  }
  static bool IsIn(const Path& outer, const Path& inner) {
    return inner.size() >= outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
  }
  FlowTag TagNow(const Path& path) {
    return std::max(states_[path].tag, states_[ParentOf(path)].virtual_time);
  }
  void Touch(const Path& leaf) {
    for (Path path = leaf; path.size() > 1; path.pop_back()) states_[path].touched_at = calls_;
  }

  // Makes what is not known, from the root on.
  Path Reach(const engine::LineFlow& flow) {
    ++calls_;
    Path path = {Number(flow.priority)};
    states_[path];
    for (int i = 0; i <= flow.depth; ++i) {
      const bool own = i == flow.depth;
      path.push_back(own ? OwnKey(flow.LeafKey()) : flow.levels[static_cast<size_t>(i)].key);
      if (!states_.contains(path)) ForgetFor(path);
      states_[path].weight = own ? 1 : flow.levels[static_cast<size_t>(i)].weight;
    }
    return path;
  }
  void ForgetFor(const Path& newcomer) {
    while (flows() >= max_flows_) {
      std::map<uint64_t, Path> idle;  // by when they were touched
      for (const auto& [path, state] : states_) {
        if (path.size() > 1 && !Waits(path) && !HasChildren(path) && !IsIn(path, newcomer)) {
          idle[state.touched_at] = path;
        }
      }
      if (idle.empty()) return;
      const Path* forgotten = nullptr;
      FlowTag least = 0;
      int looks = 0;
      for (const auto& [touched_at, path] : idle) {
        const FlowTag owed = states_[path].tag - states_[ParentOf(path)].virtual_time;
        const bool is_nothing = forgotten != nullptr && least <= 0;
        if (++looks > 16 || is_nothing) break;
        if (forgotten == nullptr || owed < least) {
          forgotten = &path;
          least = owed;
        }
      }
      states_.erase(*forgotten);
    }
  }
  bool HasChildren(const Path& path) const {
    return std::any_of(states_.begin(), states_.end(), [&](const auto& each) {
      return each.first.size() > path.size() && IsIn(path, each.first);
    });
  }

  bool Waits(const Path& path) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& each) { return IsIn(path, each.leaf); });
  }
  std::set<Path> WaitingChildren(const Path& path) const {
    std::set<Path> children;
    for (const Entry& each : entries_) {
      if (each.leaf.size() <= path.size() || !IsIn(path, each.leaf)) continue;
      const auto end = each.leaf.begin() + static_cast<std::ptrdiff_t>(path.size()) + 1;
      children.insert(Path(each.leaf.begin(), end));
    }
    return children;
  }
  std::set<int, std::greater<>> WaitingPriorities() const {
    std::set<int, std::greater<>> waiting;
    for (const Entry& each : entries_) waiting.insert(Priority(each.leaf));
    return waiting;
  }
  int NextPriority() const {
    const auto waiting = WaitingPriorities();
    int next = *waiting.begin();
    double most = 0;
    for (const int priority : waiting) {
      const auto found = owed_.find(priority);
      if (priority == *waiting.begin() || found == owed_.end() || found->second <= most) continue;
      next = priority;
      most = found->second;
    }
    return next;
  }
  void ChargeFloors(int charged, double cost) {
    auto competing = WaitingPriorities();
    competing.insert(charged);
    const double floor = competing.size() < 2
                             ? floor_
                             : std::min(floor_, 0.5 / static_cast<double>(competing.size() - 1));
    for (const int priority : competing) owed_[priority];
    for (auto& [priority, owed] : owed_) {
      const bool behind = *competing.begin() > priority && competing.contains(priority);
      if (!behind) owed = std::min(owed, 0.0);
      if (behind) owed += floor * cost;
      if (behind && priority == charged) owed = std::max(owed - cost, -cost);
    }
  }

  const double floor_;
  const size_t max_flows_;
  uint64_t calls_ = 0;
  std::vector<Entry> entries_;
  std::map<Path, State> states_;
  std::map<int, double> owed_;
};

}  // namespace headgate::line
