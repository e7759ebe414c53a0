// GoingFirst: while it lives, this thread and whatever processes it starts go before everything
// else on the machine, where that is allowed (root, CAP_SYS_NICE).
//
// A server and an honest job have machines of their own, or a good part of one. Here they share two
// or three processors with what the neighbour's own side does, and Linux lets a thread that wakes
// up wait for milliseconds until one that is busy has used its turn.
//
//   const GoingFirst first(1);
//   server.Start();

#pragma once

#include <sched.h>

namespace headgate::bench {

class GoingFirst {
 public:
  // Of two that go first the higher one does: 1 to 99.
  explicit GoingFirst(int priority) : allowed_(Set(SCHED_FIFO, priority)) {}
  ~GoingFirst() {
    if (allowed_) Set(SCHED_OTHER, 0);
  }
  GoingFirst(const GoingFirst&) = delete;
  GoingFirst& operator=(const GoingFirst&) = delete;

  bool allowed() const { return allowed_; }

 private:
  static bool Set(int policy, int priority) {
    const sched_param as = {.sched_priority = priority};
    return sched_setscheduler(0, policy, &as) == 0;
  }

  const bool allowed_;
};

}  // namespace headgate::bench
