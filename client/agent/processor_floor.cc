#include "client/agent/processor_floor.h"

#include <algorithm>

namespace headgate::agent {
namespace {

constexpr double kDueOfWanted = 0.5;
// For which a look stands at most: nobody knows what was between two that are farther apart.
constexpr int64_t kLongestLookNs = 1'000'000'000;

}  // namespace

bool ProcessorFloor::AsksProcessorTime(int64_t now_ns, size_t wanting) const {
  if (processors_ <= 0) return false;
  if (relieves_) return true;
  const bool is_wanted = wanting > 0 || wanted_ns_ > 0;
  return is_wanted && (settled_at_ns_ == 0 || now_ns - settled_at_ns_ >= kSettledEachNs);
}

// A worker of a parallel query that is new has run since it began, which was just now. What another
// new one ran before is nobody's business.
double ProcessorFloor::Grown(absl::Span<const BatchSession> sessions) {
  ++round_;
  double grown = 0;
  for (const BatchSession& session : sessions) {
    const auto found = known_.find(session.pid);
    const bool is_known = found != known_.end() && found->second.began_us == session.began_us;
    if (!session.ran_ns.has_value()) {
      if (is_known) found->second.round = round_;
      continue;
    }
    const int64_t before = is_known              ? found->second.ran_ns
                           : session.leader != 0 ? 0
                                                 : *session.ran_ns;
    grown += static_cast<double>(std::max<int64_t>(*session.ran_ns - before, 0));
    known_[session.pid] = {
        .began_us = session.began_us, .ran_ns = *session.ran_ns, .round = round_};
  }
  absl::erase_if(known_, [this](const auto& one) { return one.second.round != round_; });
  return grown;
}

void ProcessorFloor::Settle(double ran_ns, int64_t now_ns) {
  const auto passed_ns = static_cast<double>(settled_at_ns_ == 0 ? 0 : now_ns - settled_at_ns_);
  const double due_ns = std::min(processors_ * passed_ns, kDueOfWanted * wanted_ns_);
  if (!relieves_ && passed_ns > 0) due_ = due_ns / passed_ns;
  const double most_ns = due_ * static_cast<double>(kMemoryNs);
  lacking_ns_ = std::clamp(lacking_ns_ + due_ns - ran_ns, -most_ns, most_ns);
  settled_at_ns_ = now_ns;
  wanted_ns_ = 0;
}

void ProcessorFloor::BeginOrEnd(int64_t now_ns) {
  if (relieves_) {
    const bool is_had = lacking_ns_ <= 0;
    if (!is_had && now_ns - relieved_at_ns_ < kLongestReliefNs) return;
    relieves_ = false;
    const bool has_helped = is_had || lacking_ns_ < lacked_ns_;
    rest_ns_ = has_helped ? kShortestRestNs : std::min(2 * rest_ns_, kLongestRestNs);
    rests_until_ns_ = is_had ? now_ns : now_ns + rest_ns_;
    return;
  }
  const double patience_ns = due_ * static_cast<double>(kPatienceNs);
  relieves_ = lacking_ns_ > 0 && lacking_ns_ >= patience_ns && now_ns >= rests_until_ns_;
  if (!relieves_) return;
  relieved_at_ns_ = now_ns;
  lacked_ns_ = lacking_ns_;
}

bool ProcessorFloor::Decide(absl::Span<const BatchSession> sessions, int64_t now_ns) {
  if (processors_ <= 0) return false;
  size_t wanting = 0;
  bool is_counted = false;
  for (const BatchSession& session : sessions) {
    if (session.wants()) ++wanting;
    is_counted |= session.ran_ns.has_value();
  }
  const bool asks = AsksProcessorTime(now_ns, wanting);
  const int64_t passed_ns = looked_at_ns_ == 0 ? 0 : now_ns - looked_at_ns_;
  wanted_ns_ +=
      static_cast<double>(wanting) * static_cast<double>(std::min(passed_ns, kLongestLookNs));
  looked_at_ns_ = now_ns;
  if (asks && is_counted) {
    Settle(Grown(sessions), now_ns);
  } else if (!relieves_ && now_ns - settled_at_ns_ >= kSettledEachNs) {
    // Nobody has wanted anything.
    lacking_ns_ = wanted_ns_ = 0;
    settled_at_ns_ = now_ns;
  }
  BeginOrEnd(now_ns);
  return relieves_;
}

}  // namespace headgate::agent
