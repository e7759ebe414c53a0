// Decisions that are under way, so that a handover can wait for them.
//
// Whoever decides for a target of its own does so within a DecisionScope, which it opens before it
// looks who owns the target. A target is published as held first, and then drained: once IsDrained,
// every scope that was open at BeginDrain has ended, and what it charged is in the engine; what
// opens later sees that the target is held.
//
// Two counts for each group of threads, as in sleepable RCU: new scopes count in one of them while
// the other runs empty. A scope costs two uncontended atomic additions.
//
// Scopes are thread-safe and short: nobody sleeps in one. Draining belongs to one thread.
//
//   publish(held);
//   decisions.BeginDrain();
//   while (!decisions.IsDrained()) wait_a_millisecond();

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headgate::cluster {

class Decisions {
 public:
  // All that is open now, and that IsDrained will wait for. Not while another drain goes on.
  void BeginDrain() {
    // relaxed: a scope that still counts in the old group is either seen there, or sees what was
    // published (IsDrained).
    current_.fetch_xor(1, std::memory_order_relaxed);
  }
  // All of it has ended.
  bool IsDrained() {
    const size_t old = current_.load(std::memory_order_relaxed) ^ 1;
    for (Group& group : groups_) {
      // acq_rel, and a write, here and in Enter, so that one of the two comes first in the order of
      // writes to this count: either this one sees the scope, or the scope sees what was published
      // before. A plain load here could miss a scope that misses it.
      if (group.open[old].fetch_add(0, std::memory_order_acq_rel) != 0) return false;
    }
    return true;
  }

 private:
  friend class DecisionScope;
  using Count = std::atomic<int64_t>;

  static constexpr size_t kGroups = 32;
  struct alignas(64) Group {
    std::array<Count, 2> open{};
  };

  Count& Enter() {
    // relaxed: both are right, see BeginDrain.
    Count& count = groups_[GroupOfThread()].open[current_.load(std::memory_order_relaxed)];
    count.fetch_add(1, std::memory_order_acq_rel);  // see IsDrained
    return count;
  }
  static size_t GroupOfThread() {
    static std::atomic<size_t> next{0};
    // relaxed: any number will do.
    thread_local const size_t group = next.fetch_add(1, std::memory_order_relaxed) % kGroups;
    return group;
  }

  std::atomic<size_t> current_{0};
  std::array<Group, kGroups> groups_{};
};

class DecisionScope {
 public:
  explicit DecisionScope(Decisions& decisions) : count_(decisions.Enter()) {}
  // release: what was decided is seen by whoever sees the count drop.
  ~DecisionScope() { count_.fetch_sub(1, std::memory_order_release); }
  DecisionScope(const DecisionScope&) = delete;
  DecisionScope& operator=(const DecisionScope&) = delete;

 private:
  Decisions::Count& count_;
};

}  // namespace headgate::cluster
