// Timeline: what happens when, in one thread, and what of it must not have happened.
//
// Thread-compatible. Times are nanoseconds from the start of the simulation.
//
//   timeline.After(absl::Milliseconds(5), [&] { ... });
//   while (timeline.violation().empty() && timeline.steps() < 1000) timeline.Step();

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/sim/leases/chance.h"

namespace headgate::leases {

class Timeline {
 public:
  explicit Timeline(uint64_t seed) : seed_(seed), chance_(seed) {}

  int64_t now_ns() const { return now_ns_; }
  Chance& chance() { return chance_; }
  // A number for what happens now: what happens later has more.
  uint64_t Count() { return ++count_; }
  uint64_t count() const { return count_; }

  void After(absl::Duration time, std::function<void()> what) {
    events_.push({.at_ns = now_ns_ + absl::ToInt64Nanoseconds(time),
                  .order = Count(),
                  .what = std::move(what)});
  }
  // What is due next happens.
  void Step() {
    Event event = events_.top();
    events_.pop();
    now_ns_ = event.at_ns;
    ++steps_;
    event.what();
  }
  int64_t steps() const { return steps_; }
  int64_t NextAt() const { return events_.top().at_ns; }
  // Time passes, and nothing happens.
  void MoveTo(int64_t at_ns) { now_ns_ = std::max(now_ns_, at_ns); }

  // The first one counts.
  void Violate(const std::string& what) {
    if (!violation_.empty()) return;
    violation_ = absl::StrCat("seed ", seed_, ", step ", steps_, ", at ",
                              absl::FormatDuration(absl::Nanoseconds(now_ns_)), ": ", what);
  }
  const std::string& violation() const { return violation_; }

 private:
  struct Event {
    int64_t at_ns = 0;
    uint64_t order = 0;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  const uint64_t seed_;
  Chance chance_;
  int64_t now_ns_ = 0;
  uint64_t count_ = 0;
  int64_t steps_ = 0;
  std::priority_queue<Event> events_;
  std::string violation_;
};

}  // namespace headgate::leases
