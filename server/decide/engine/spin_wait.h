// SpinWait: waiting for another thread that is about to be done, where a lock would cost more than
// that.
//
// For a few nanoseconds it only tells the processor that it waits; after that the other thread was
// preempted, or waits for something itself, and the processor is left to others.
//
// Belongs to one thread.
//
//   for (SpinWait wait; word.load(std::memory_order_acquire) == kLocked; wait.Pause()) {
//   }

#pragma once

#include <thread>

namespace headgate::engine {

class SpinWait {
 public:
  void Pause() {
    if (++spins_ >= kSpins) return std::this_thread::yield();
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

 private:
  static constexpr int kSpins = 1000;
  int spins_ = 0;
};

}  // namespace headgate::engine
