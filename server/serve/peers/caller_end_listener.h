// CallerEndListener: is told that the caller of a call that waits at a peer has its answer, or is
// gone, and tells the peer.
//
// Without it the peer would keep the caller's place in line, or what the caller was admitted.
//
// Thread-safe.

#pragma once

#include <cstdint>

namespace headgate::peers {

class CallerEndListener {
 public:
  virtual ~CallerEndListener() = default;
  // Of the message of this number. Not delivered: the caller is gone.
  virtual void CallerEnded(uint64_t number, bool delivered) = 0;
};

}  // namespace headgate::peers
