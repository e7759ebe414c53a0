// What the next process, or the target's next owner, finds of what a controller has learnt, from
// which the rate of `rate: auto` follows.

#include <algorithm>

#include "server/observe/control/control_loop.h"
#include "server/observe/control/learnt_control.h"

namespace headgate::control {
namespace {

constexpr int64_t kKeepAfterNs = 1'000'000'000;

}  // namespace

// Whoever gives a target away, or takes one over of which nothing is left, begins anew: what it
// learnt as its owner may be long ago, and the foreground that it saw since may have been beside
// another owner's batch.
void ControlLoop::Restore(Now now) {
  const engine::LearntControlBytes known = engine_.ReadLearntControl(spec_.target);
  if (known.adoption == adoption_) return;
  adoption_ = known.adoption;
  const absl::StatusOr<LearntControl> learnt = ParseLearntControl(known.bytes);
  const bool is_of_use = learnt.ok() && learnt->IsWith(spec_.options);
  if (is_of_use) {
    controller_.Restore(*learnt, learnt->SecondsUntil(now.wall_ns));
  } else {
    controller_ = Controller(spec_.options);
  }
  lessons_ = controller_.lessons();
}

// Where the target has been adopted in between, it is taken up at the next sample.
void ControlLoop::Keep(Now now) {
  if (controller_.lessons() == lessons_) return;
  if (kept_at_ns_ != 0 && now.monotonic_ns - kept_at_ns_ < kKeepAfterNs) return;
  LearntControl learnt = controller_.Learnt();
  const auto since_ns = static_cast<int64_t>(controller_.since_learnt() * 1e9);
  learnt.at_wall_ns = std::max<int64_t>(0, now.wall_ns - since_ns);
  (void)engine_.SetLearntControl(spec_.target, ToText(learnt), adoption_.value_or(0));
  lessons_ = controller_.lessons();
  kept_at_ns_ = now.monotonic_ns;
}

}  // namespace headgate::control
