#include "client/fallback.h"

#include <algorithm>
#include <cmath>

namespace headgate::client::internal {
namespace {

constexpr absl::Duration kLongestDrain = absl::Hours(24);

}  // namespace

bool Fallback::MayAsk(absl::Duration now) {
  if (!Decides()) return true;
  MutexLock lock(&mutex_);
  if (!outage_) return true;
  if (now < ask_at_) return false;
  ask_at_ = now + pause_;  // this call asks on behalf of all
  return true;
}

void Fallback::Failed(absl::Duration now) {
  MutexLock lock(&mutex_);
  answered_ = false;
  outage_ = true;
  ask_at_ = now + pause_;
}

void Fallback::Succeeded() {
  MutexLock lock(&mutex_);
  answered_ = true;
  outage_ = false;
}

void Fallback::SentAway() {
  MutexLock lock(&mutex_);
  answered_ = false;
}

bool Fallback::IsAnswered() const {
  MutexLock lock(&mutex_);
  return answered_;
}

Answer Fallback::Decide(const CheckRequest& request, absl::Duration now) {
  Answer answer{.verdict = Verdict::kAllowed,
                .predicted_cost = request.estimated_cost.value_or(1),
                .message = "Headgate is unreachable: allowed without it",
                .local = true};
  if (policy_.kind() == OnUnreachable::Kind::kProceed) return answer;

  MutexLock lock(&mutex_);
  if (now < drained_at_) {
    answer.verdict = Verdict::kDenied;
    answer.reason = Reason::kCapacity;
    answer.retry_after = drained_at_ - now;
    answer.message = "Headgate is unreachable: held to the client's floor rate";
  } else if (!request.validate_only) {
    // Rounded up, so that many small costs don't add up to more than the rate.
    const double drain_ns =
        std::ceil(answer.predicted_cost * 1e9 / policy_.cost_units_per_second());
    drained_at_ = now + std::min(absl::Nanoseconds(drain_ns), kLongestDrain);
  }
  return answer;
}

}  // namespace headgate::client::internal
