// What the budgets and the sampler are told after each step: at which rate work drains, what a
// chunk should take, and when to look again and at what.

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/observe/control/controller.h"

namespace headgate::control {
namespace {

constexpr double kTick = 0.5, kShortestTick = 0.02;  // s
constexpr double kDrain = 0.03;                      // s in which chunks under way end, at least
constexpr double kChunksEnd = 2;                     // times as long as a chunk

constexpr double kAtLimit = 0.9;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

constexpr double kBusyChunk = 0.0075, kIdleChunk = 0.07;  // s
// Where sessions yield, what harms is no longer what a chunk does but that it begins and ends; how
// long it may hold its locks is what bounds it. Where few sessions are borne locks are likely what
// is waited for, and chunks become shorter with them.
constexpr double kYieldingChunk = 0.075, kWholeChunksFrom = 0.2;  // s; processor seconds a second
// Beside a foreground chunks start one after another, each when the one before has drained but for
// this: jobs come back later than they are told, and nothing else makes up for that.
constexpr double kStartEarly = kBusyChunk / 2, kLate = 0.01;  // busy seconds; s at the rate

}  // namespace

// Where a phase is going to end, if it is known, and in the middle of a time of work: each sample
// costs the database something.
double Controller::Next(int64_t outstanding) {
  if (phase_ == ControlPhase::kIdle || ChunksAreLong()) return kIdleTick * Jitter();
  if (phase_ == ControlPhase::kWork) return RestOfWork() / SamplesOfWork();
  if (is_draining_) return outstanding > 0 ? std::max(kDrain, kChunksEnd * meter_.chunk()) : kDrain;
  return std::max(kShortestTick, pause_for_ - glances_.QuietEnd());
}

double Controller::RestOfWork() const { return std::max(kShortestTick, work_for_ - worked_); }
// That are still to come in a time of work, the one at its end included.
double Controller::SamplesOfWork() const { return std::max(1.0, std::round(RestOfWork() / kTick)); }

// Statements where a phase may end; in between only if they are cheap.
health::StatementsWish Controller::Wish() const {
  using Wish = health::StatementsWish;
  if (!meter_.has_statements()) return Wish::kNow;
  if (phase_ == ControlPhase::kPause) {
    // A reading that chunks were still under way for is not to be in vain.
    if (is_draining_) return begins_with_flow_ ? Wish::kNow : Wish::kPair;
    return begins_with_flow_ || !Writes() ? Wish::kNow : Wish::kSpare;
  }
  const bool ends_next = phase_ == ControlPhase::kWork && !ChunksAreLong() && SamplesOfWork() == 1;
  return ends_next ? Wish::kPair : Wish::kSpare;
}

// In a pause nothing drains, so that what it keeps back is worked off evenly after it. What is
// still owed for work that was done without a foreground must not keep it waiting for seconds once
// there is one. Long chunks go on through pauses.
double Controller::Drain() const {
  switch (phase_) {
    case ControlPhase::kWork:
    case ControlPhase::kIdle:
      return drain_;
    case ControlPhase::kPause:
      return ChunksAreLong() ? rate_ : pays_for_idle_ ? drain_ : 0;
    case ControlPhase::kRest:
    case ControlPhase::kBlind:
      break;
  }
  return rate_;
}

double Controller::Chunk() const {
  if (presence_.foreground() == Foreground::kNone) return kIdleChunk;
  if (!yields_) return kBusyChunk;
  return std::clamp(kYieldingChunk * rate_ / kWholeChunksFrom, kBusyChunk, kYieldingChunk);
}

double Controller::StartLevel() const {
  return yields_ ? Chunk() / 2 : std::max(kStartEarly, rate_ * kLate);
}

ControlSetting Controller::Setting(absl::Duration next) const {
  // At rest too: the first chunks come then, from all workers at once.
  const bool is_alone = presence_.foreground() == Foreground::kNone;
  ControlSetting setting{.rate = rate_,
                         .drain = Drain(),
                         .shut = phase_ == ControlPhase::kPause,
                         .phase = phase_,
                         .alone = alone_,
                         .with_batch = with_batch_,
                         .binding = limits_.binding(),
                         .foreground = met_,
                         .held_back = held_back_,
                         .at_most = rate_ >= options_.max_rate,
                         .at_limit = rate_ > kAtLimit * FindRate(),
                         .long_chunk = ChunksAreLong() ? meter_.chunk() : 0,
                         .misses_batch = meter_.misses_batch(),
                         .understated = meter_.is_understated(),
                         .chunk = Chunk(),
                         .start_level = is_alone ? kNoLimit : StartLevel(),
                         .yields = yields_,
                         .most_sessions = is_alone || !yields_ ? kNoLimit : std::ceil(rate_),
                         .next = next,
                         .statements = Wish()};
  for (size_t i = 0; i < kHarms; ++i) {
    setting.harms[i] = limits_.View(static_cast<Harm>(i), rate_);
  }
  return setting;
}

}  // namespace headgate::control
