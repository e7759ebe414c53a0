// Takes the signals that ask a program to end as something that can be waited for.
//
// From then on a reader of the output that goes away ends nothing either.
//
// It has to be made before any other thread is. For one thread, and one at a time in a process.
//
//   const StopSignals stop;
//   poll(stop.fd()...)  // readable: end
#pragma once

#include <csignal>

#include "common/file_descriptor.h"

namespace headgate::agent {

class StopSignals {
 public:
  StopSignals();  // INT, TERM, HUP, QUIT
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int fd() const { return fd_.number(); }

 private:
  sigset_t before_ = {};
  FileDescriptor fd_;
};

}  // namespace headgate::agent
