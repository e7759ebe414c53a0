#include "server/observe/control/yielding_meter.h"

#include <algorithm>
#include <cmath>

namespace headgate::control {
namespace {

constexpr double kUnseenFor = 2;  // s
constexpr double kSmoothed = 20;  // s
constexpr double kLeastBusy = 1;  // busy seconds of which a share is known
constexpr double kLeastProcessorShare = 0.05;

}  // namespace

// An agent that began anew counts from 0.
void YieldingMeter::Tell(const Yielding& told, int64_t now_ns) {
  const bool goes_on = told_.works && told.works;
  if (goes_on) had_ += std::max(0.0, told.processor_seconds - told_.processor_seconds);
  if (told.sessions > 0) unseen_for_ = 0;
  told_ = told;
  told_at_ns_ = now_ns;
}

void YieldingMeter::Note(const Work& work, int64_t now_ns) {
  const double seconds = noted_at_ns_ == 0 ? 0 : static_cast<double>(now_ns - noted_at_ns_) / 1e9;
  const double busy = noted_at_ns_ == 0 ? 0 : std::max(0.0, work.busy_seconds - noted_busy_);
  noted_at_ns_ = now_ns;
  noted_busy_ = work.busy_seconds;
  if (work.outstanding > 0 && told_.sessions + told_.raised == 0) unseen_for_ += seconds;
  if (!Yields(now_ns)) {
    had_ = processor_ = busy_ = 0;
    return;
  }
  const double keep = std::exp(-std::max(0.0, seconds) / kSmoothed);
  processor_ = keep * processor_ + had_;
  busy_ = keep * busy_ + busy;
  had_ = 0;
}

bool YieldingMeter::Yields(int64_t now_ns) const {
  return told_.works && told_at_ns_ != 0 && now_ns - told_at_ns_ < kLeaseNs &&
         unseen_for_ < kUnseenFor;
}

double YieldingMeter::processor_share() const {
  if (busy_ < kLeastBusy || processor_ <= 0) return 1;
  return std::clamp(processor_ / busy_, kLeastProcessorShare, 1.0);
}

}  // namespace headgate::control
