// WalTimeline: when the primary wrote which part of its WAL, and so how old the WAL is that a
// standby has not replayed.
//
// pg_stat_replication.replay_lag alone can't be trusted: it keeps its last value while replay
// stands still, and is NULL where nothing was written for a while. Positions can. WAL behind
// position P was written after the last time that the primary was seen at P or before it, and was
// there the first time that it was seen beyond P: that bounds the lag from both sides.
//
// Positions are bytes since the beginning of WAL, times are seconds. Memory is bounded: old
// times become coarser, which widens the bounds by a few percent but keeps them true.
// Thread-compatible.
//
//   timeline.Add(now, written);
//   const WalTimeline::Age age = timeline.AgeBehind(replayed, now);
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

namespace headgate::postgres {

class WalTimeline {
 public:
  // Of the oldest WAL behind a position.
  struct Age {
    double at_least = 0;
    double at_most = std::numeric_limits<double>::infinity();
  };

  void Add(double at, double written) {
    // Another primary, or another clock.
    if (!seen_.empty() && (written < seen_.back().written || at < seen_.back().last)) Clear();
    if (!seen_.empty() && written == seen_.back().written) {
      seen_.back().last = at;
      return;
    }
    seen_.push_back({written, at, at});
    if (seen_.size() > kMaxSeen) Thin();
  }

  void Clear() { seen_.clear(); }

  Age AgeBehind(double replayed, double now) const {
    const auto beyond = std::find_if(seen_.begin(), seen_.end(),
                                     [&](const Seen& seen) { return seen.written > replayed; });
    if (beyond == seen_.end()) return {.at_least = 0, .at_most = 0};
    Age age = {.at_least = now - beyond->first};
    if (beyond != seen_.begin()) age.at_most = now - std::prev(beyond)->last;
    return age;
  }

 private:
  static constexpr size_t kMaxSeen = 1024;
  struct Seen {
    double written;
    double first, last;  // times at which the primary was at this position
  };

  // The older, the further apart: by a part of their age, so that the bounds are off by no more
  // than that. Weeks take fewer than kMaxSeen; what is older still goes.
  void Thin() {
    const double now = seen_.back().last;
    size_t kept = 1;
    for (size_t i = 1; i < seen_.size(); ++i) {
      const bool far = seen_[i].first - seen_[kept - 1].first >= (now - seen_[i].first) / 32;
      if (far || i + 1 == seen_.size()) seen_[kept++] = seen_[i];
    }
    seen_.resize(kept);
    if (kept > kMaxSeen / 2) seen_.erase(seen_.begin(), seen_.end() - kMaxSeen / 2);
  }

  std::vector<Seen> seen_;  // by position, and by time
};

}  // namespace headgate::postgres
