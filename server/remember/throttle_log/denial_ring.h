// The newest denials of one thread, in full.
//
// The counting thread overwrites the oldest without waiting for anybody. A reader looks at an
// entry's sequence before and after, and lets go of one that was overwritten meanwhile.
//
// Push is for one thread, Take for one other at a time.
//
//   DenialRing ring(512);
//   ring.Push({.at_ns = now.wall_ns, .identity = "job:etl", ...});
//   ring.Take([](const RingDenial& denial) {...});

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace headgate::throttle_log {

struct RingDenial {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  int64_t at_ns = 0;           // wall time
  int64_t retry_after_ns = 0;  // or kNever
  double predicted_cost = 0;
  double observed = 0;
  double limit = 0;
  uint32_t label = 0;
  int32_t priority = 0;
  std::string_view identity;  // from Take: for the call
};

class DenialRing {
 public:
  explicit DenialRing(size_t size);

  void Push(const RingDenial& denial);

  // All since the call before that are still there, in order. Returns how many are not.
  int64_t Take(absl::FunctionRef<void(const RingDenial&)> take);

  size_t bytes() const { return size_ * sizeof(Entry); }

 private:
  static constexpr size_t kNumbers = 7;
  static constexpr size_t kTextWords = 64;

  struct Entry {
    std::atomic<uint64_t> sequence{0};  // 2 n + 1 while the n-th denial is written, then 2 n + 2
    std::atomic<uint64_t> numbers[kNumbers];
    std::atomic<uint64_t> text[kTextWords];
  };

  static bool Read(const Entry& entry, uint64_t number, RingDenial& denial, char* text);

  const size_t size_;
  const std::unique_ptr<Entry[]> entries_;
  std::atomic<uint64_t> pushed_{0};
  uint64_t taken_ = 0;  // the reader's
};

}  // namespace headgate::throttle_log
