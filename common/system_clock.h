// SystemClock: the real Clock, at about the cost of reading the processor's time-stamp counter.
//
// Where the kernel itself keeps time by an invariant TSC (x86-64, clock source "tsc"), Read()
// scales the counter along a line that is drawn anew from CLOCK_MONOTONIC and CLOCK_REALTIME every
// 50 ms, by whichever reader notices that it is due. Elsewhere each Read() asks the kernel for
// both.
//
// Guarantees with the TSC, beside those of Clock:
// - monotonic_ns follows CLOCK_MONOTONIC: small differences are slewed away within 50 ms, a lead of
//   more than 10 ms is waited for, and a lag of more than 10 ms is a jump that is taken.
// - wall_ns shows a step of the wall clock within 50 ms.
// - No reader waits for one that draws a line, except for the few stores that publish it, and after
//   a second without any Read.
//
// Thread-safe. Construction takes 2 ms.
//
//   SystemClock clock;
//   const Now now = clock.Read();
#pragma once

#include <memory>
#include <string_view>

#include "common/clock.h"

namespace headgate {

class SystemClock final : public Clock {
 public:
  SystemClock();
  ~SystemClock() override;

  Now Read() override;

  // Both times from the kernel, one after the other: what Read() follows.
  static Now ReadKernel();

  // "tsc" or "clock_gettime".
  std::string_view source() const;

 private:
  class TscLine;

  std::unique_ptr<TscLine> tsc_;  // null where the TSC can't be trusted
};

}  // namespace headgate
