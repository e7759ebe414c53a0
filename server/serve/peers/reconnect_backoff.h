// ReconnectBackoff: when a connection that failed may be tried again.
//
// The first attempt after a failure comes 100 ms after the one before, and each further pause is
// twice as long, up to a second: a server that comes back is reached soon, and one that stays away
// costs little. A server that left the membership is not tried at all (PeerConnections).
//
// Thread-compatible. The time is the caller's.
//
//   if (!backoff.MayTry(now_ns)) return;
//   backoff.OnAttempt(now_ns);
//   ... backoff.OnSuccess();

#pragma once

#include <algorithm>
#include <cstdint>

namespace headgate::peers {

class ReconnectBackoff {
 public:
  static constexpr int64_t kFirstPauseNs = 100'000'000;
  static constexpr int64_t kLongestPauseNs = 1'000'000'000;

  bool MayTry(int64_t now_ns) const { return now_ns >= next_ns_; }
  void OnAttempt(int64_t now_ns) {
    next_ns_ = now_ns + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
  }
  // The connection works: the next failure is the first one again.
  void OnSuccess() { pause_ns_ = kFirstPauseNs; }

 private:
  int64_t next_ns_ = INT64_MIN;
  int64_t pause_ns_ = kFirstPauseNs;
};

}  // namespace headgate::peers
