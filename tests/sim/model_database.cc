#include "tests/sim/model_database.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headgate::sim {
namespace {

constexpr double kWanderSeconds = 0.5;  // memory of the foreground's own ups and downs

}  // namespace

ModelDatabase::ModelDatabase(const Workload& workload, uint64_t seed)
    : workload_(workload), dice_(seed) {}

int ModelDatabase::StartChunk(double work) {
  chunks_.push_back({started_, work});
  return started_++;
}

std::vector<int> ModelDatabase::TakeFinished() { return std::exchange(finished_, {}); }

bool ModelDatabase::foreground_present() const {
  if (workload_.clients == 0 && workload_.pace == 0) return false;
  if (workload_.quiet_for > 0 && now_ >= workload_.quiet_from &&
      now_ < workload_.quiet_from + workload_.quiet_for) {
    return false;
  }
  return workload_.period == 0 || std::fmod(now_, 2 * workload_.period) < workload_.period;
}

void ModelDatabase::Advance(double seconds) {
  std::normal_distribution<double> normal;
  const double fade = std::exp(-seconds / kWanderSeconds);
  wander_ = wander_ * fade + workload_.wander * std::sqrt(1 - fade * fade) * normal(dice_);

  const auto batch = static_cast<double>(chunks_.size());
  const bool present = foreground_present();
  if (workload_.pace > 0) {
    if (present) queue_ += std::poisson_distribution<int>(workload_.pace * seconds)(dice_);
    active_ = std::min(queue_, static_cast<double>(workload_.clients));
  } else {
    active_ = present ? workload_.clients : 0;
  }
  const double share = std::min(1.0, workload_.cores / std::max(active_ + batch, 1e-9));
  const double speed = share * (1 + wander_) / (1 + workload_.interference * batch);
  double done = active_ * speed * seconds / workload_.service;
  if (workload_.pace > 0) {
    done = std::min(done, queue_);
    queue_ -= done;
    // Sessions that were busy on average: what ended sooner than the step was not busy all of it.
    active_ = std::min(active_, std::max(done * workload_.service / (speed * seconds), queue_));
  }
  transactions_ += done;
  calls_ += done;
  busy_ += active_ * seconds;
  for (Chunk& chunk : chunks_) chunk.left -= share * seconds;
  for (const Chunk& chunk : chunks_) {
    if (chunk.left <= 0) finished_.push_back(chunk.number);
  }
  std::erase_if(chunks_, [](const Chunk& chunk) { return chunk.left <= 0; });
  ended_ = started_ - static_cast<int64_t>(chunks_.size());
  now_ += seconds;
}

health::WorkCounters ModelDatabase::Counters() {
  health::WorkCounters counters;
  counters.sampled_at_ns = static_cast<int64_t>(std::llround(now_ * 1e9));
  counters.next_xid = 1000 + ended_ + (workload_.writes ? std::llround(transactions_) : 0);
  counters.foreground_active = std::round(active_);
  counters.batch_active = static_cast<double>(chunks_.size());
  if (workload_.statements) {
    counters.statements = {.calls = calls_, .busy_seconds = busy_, .generation = generation_};
  }
  return counters;
}

}  // namespace headgate::sim
