// One count of a thread: who, what, how often. See thread_counts.h for who may touch what.

#pragma once

#include <atomic>
#include <cstdint>

#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

struct alignas(64) Slot {
  // By the counting thread, plainly: the collector looks at none of it before it has seen a count
  // of this life, which was stored afterwards, and the thread changes none of it before it has seen
  // that count be released.
  uint64_t key = 0;  // 0: never used
  uint32_t label = 0;
  uint32_t life = 0;  // whose count this is changes with it
  uint32_t peak_round = 0;
  uint16_t text_bytes = 0;
  bool folded = false;

  // By the counting thread; read by the collector.
  std::atomic<uint64_t> checks{0};  // of all lives: it only grows
  std::atomic<double> cost{0};      // of this life, as all below
  std::atomic<double> peak{0};      // since the round began
  std::atomic<double> limit{0};

  // By the collector; read by the counting thread: of `checks`, once so many have been taken and
  // none came for a while.
  std::atomic<uint64_t> released{0};

  void Add(double more_cost, uint64_t more_checks = 1) {
    // relaxed: this thread alone writes both.
    cost.store(cost.load(std::memory_order_relaxed) + more_cost, std::memory_order_relaxed);
    // release: whoever sees this count sees its cost, its peak, and whose it is. All of a slot's
    // Checks taken, then, means all of its cost.
    checks.store(checks.load(std::memory_order_relaxed) + more_checks, std::memory_order_release);
  }

  // Before Add. A collector may see one of the two numbers a denial ahead of the other.
  void NoteLimit(const CauseView& cause, uint32_t round) {
    if (peak_round == round && cause.observed <= peak.load(std::memory_order_relaxed)) return;
    peak_round = round;
    // relaxed: Add releases them.
    peak.store(cause.observed, std::memory_order_relaxed);
    limit.store(cause.limit_value, std::memory_order_relaxed);
  }

  // Whether the counting thread may give the slot to another key. acquire: the collector has looked
  // at the old one for the last time.
  bool IsFree() const {
    return released.load(std::memory_order_acquire) == checks.load(std::memory_order_relaxed);
  }
};
static_assert(sizeof(Slot) == 64);

}  // namespace headgate::throttle_log
