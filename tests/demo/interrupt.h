// Interrupt: waiting that ends early when the user wants the program to stop.
//
// SIGINT, SIGTERM and SIGHUP no longer end the program once this exists; they make every Wait()
// from then on return Cancelled, so that everything is ended and removed in order. Make one first
// in main(): threads inherit what their maker blocks. Thread-compatible.
//
//   Interrupt interrupt;
//   if (absl::Status status = interrupt.Wait(absl::Seconds(1)); !status.ok()) return status;
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::demo {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // OK after `duration`; Cancelled as soon as the program shall stop.
  absl::Status Wait(absl::Duration duration) const;

 private:
  int fd_;  // readable once a signal has come, and for good
};

}  // namespace headgate::demo
