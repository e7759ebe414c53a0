// What is different where sessions of batch work yield the processor: see docs/health.md.

#include <algorithm>
#include <utility>

#include "server/observe/control/controller.h"

namespace headgate::control {
namespace {

// Where less than one in so many is used nobody waits for it.
constexpr double kMostUnused = 2;
constexpr double kOneSession = 1;
constexpr absl::Duration kSoon = absl::Milliseconds(200);

}  // namespace

// What is owed for chunks that were begun while sessions yielded must not keep the next ones
// waiting for seconds: it drains as fast as before, in the pause, in which nobody is admitted.
ControlSetting Controller::SetYields(bool yields) {
  if (yields == yields_) return Setting(kSoon);
  limits_.Age(since_learnt_, Prior());
  since_learnt_ = 0;
  std::swap(limits_, other_limits_);
  yields_ = yields;
  limits_.Age(OtherAge(), Prior());
  other_since_ns_ = sampled_at_ns_;
  rate_ = yields ? FindRate() : std::min(rate_, FindRate());
  held_back_ = true;
  used_share_ = drained_share_ = 1;
  estimate_.Clear();
  glances_.Clear();
  if (phase_ == ControlPhase::kWork || phase_ == ControlPhase::kPause) {
    Enter(ControlPhase::kPause);
    pays_for_idle_ = !yields;
  }
  return Setting(kSoon);
}

// Beside a session that yields hardly anything differs from what chance makes, and beside a part of
// one nothing at all: nobody would find out how much it had been held back for nothing. So one runs
// until it is all but certain that it harms.
double Controller::FindSessions() const {
  return std::max(limits_.CarefulLimit(), std::min(kOneSession, limits_.HopefulLimit()));
}

// Sessions at once are counted while work runs, and W is not above it to make up for pauses. A
// chunk that was quicker than predicted gets back only what has not drained, and one that had to
// wait for a processor has let drain more than it was charged: less than what drains is used.
double Controller::DrainOfWork() const {
  if (!yields_) {
    // Long chunks go on through the pause.
    return ChunksAreLong() ? rate_ : rate_ * (1 + pause_for_ / work_for_);
  }
  const bool is_used = kMostUnused * drained_share_ > 1;
  return is_used ? rate_ * std::max(1.0, 1 / drained_share_) : rate_;
}

// s by which time has not blurred the limits that do not count now.
double Controller::OtherAge() const {
  return other_since_ns_ == 0 ? 0 : static_cast<double>(sampled_at_ns_ - other_since_ns_) / 1e9;
}

double Controller::Allowed() const { return yields_ ? rate_ : drain_; }

}  // namespace headgate::control
