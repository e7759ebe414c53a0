// ReferenceLaws: laws that the real controller is compared with, as others use them or as they were
// tried before it.
//
// Thread-compatible.
//
//   std::unique_ptr<ReferenceLaw> law = MakeAimd();
//   Verdict verdict = law->Look(sample);

#pragma once

#include <cstdint>
#include <memory>

#include "server/observe/control/flow_meter.h"

namespace headgate::sim {

class ReferenceLaw {
 public:
  virtual ~ReferenceLaw() = default;

  struct Verdict {
    double rate = 0;  // busy seconds a second
    bool shut = false;
    double next = 0.25;  // s until the next sample
    double found = -1;   // the rate over time, where `rate` is that of the moment
  };
  virtual Verdict Look(const control::ControlSample& sample) = 0;
};

// The same rate at all times.
std::unique_ptr<ReferenceLaw> MakeFixedRate(double rate);

// All or nothing, by the number of active sessions, as Vitess' threads_running.
std::unique_ptr<ReferenceLaw> MakeHardGate(double sessions);

// The rate grows by a little, and falls by a third while the foreground does less than 0.95 of the
// best it did lately, which is forgotten in 30 s.
std::unique_ptr<ReferenceLaw> MakeAimd();

// Alternating windows with and without batch work, whose sums decay, and a rate that moves by the
// harm that they show: the best of the laws that were tried by hand.
std::unique_ptr<ReferenceLaw> MakePairedProbing(double cores);

// Dense pulses of batch work with pauses between them (pulse_law.h): the law that was in force
// before.
std::unique_ptr<ReferenceLaw> MakePulses(double cores, uint64_t seed);

}  // namespace headgate::sim
