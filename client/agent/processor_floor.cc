#include "client/agent/processor_floor.h"

namespace headgate::agent {

bool ProcessorFloor::IsOver(const Look& look) const {
  return look.now_ns - since_ns_ >= kWatchedForNs;
}

bool ProcessorFloor::AsksProcessorTime(const Look& look) const {
  if (processors_ <= 0) return false;
  if (relieves_ || !ran_ns_.has_value()) return relieves_ || look.wants;
  return IsOver(look) && IsWanted();
}

// What the floor is for the time that has passed.
int64_t ProcessorFloor::DueNs(int64_t now_ns) const {
  return static_cast<int64_t>(processors_ * static_cast<double>(now_ns - since_ns_));
}

void ProcessorFloor::Begin(const Look& look) {
  since_ns_ = look.now_ns;
  ran_ns_ = look.ran_ns;
  looks_ = wanted_ = 0;
}

bool ProcessorFloor::Decide(const Look& look) {
  ++looks_;
  if (look.wants) ++wanted_;
  if (!ran_ns_.has_value() || !look.ran_ns.has_value()) {
    if (!relieves_ && (!ran_ns_.has_value() || IsOver(look))) Begin(look);
    return relieves_;
  }
  const int64_t lacking_ns = DueNs(look.now_ns) - (*look.ran_ns - *ran_ns_);
  if (relieves_) {
    const bool is_long = look.now_ns - since_ns_ >= kLongestReliefNs;
    relieves_ = lacking_ns + missing_ns_ > 0 && !is_long;
    if (!relieves_) Begin(look);
    return relieves_;
  }
  relieves_ = lacking_ns > 0;
  missing_ns_ = lacking_ns;
  Begin(look);
  return relieves_;
}

}  // namespace headgate::agent
