// CounterWindow: how much a cumulative counter grew in the last while.
//
// It remembers the counter at a few times, so that growth is taken over about the window, however
// often it is read; until the window has passed, over what there is. Memory is bounded. A counter
// that runs backwards was reset (statistics reset, crash, another server): it starts over, as does
// time that runs backwards.
//
// Thread-compatible.
//
//   CounterWindow deadlocks(absl::Seconds(10));
//   deadlocks.Add(now_seconds, 17);
//   if (deadlocks.seconds() > 0) rate = deadlocks.growth() / deadlocks.seconds();
#pragma once

#include <deque>

#include "absl/time/time.h"

namespace headgate::postgres {

class CounterWindow {
 public:
  explicit CounterWindow(absl::Duration window) : window_(absl::ToDoubleSeconds(window)) {}

  void Add(double at_seconds, double counter) {
    if (!kept_.empty() && (at_seconds < last_.at || counter < last_.counter)) kept_.clear();
    last_ = {at_seconds, counter};
    // The newest that is as old as the window stays: growth is taken from there.
    while (kept_.size() > 1 && kept_[1].at <= at_seconds - window_) kept_.pop_front();
    if (kept_.empty() || at_seconds - kept_.back().at >= window_ / kKept) kept_.push_back(last_);
  }

  void Clear() { kept_.clear(); }

  // Of the time that growth() covers; 0 as long as there is nothing to compare with.
  double seconds() const { return kept_.empty() ? 0 : last_.at - kept_.front().at; }
  double growth() const { return kept_.empty() ? 0 : last_.counter - kept_.front().counter; }

 private:
  static constexpr int kKept = 32;
  struct Sample {
    double at = 0;
    double counter = 0;
  };

  const double window_;  // seconds
  std::deque<Sample> kept_;
  Sample last_;
};

}  // namespace headgate::postgres
