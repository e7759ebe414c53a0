// What all of a soak's actors share: where the server is, what is known of its answers, and the
// end.
//
// Thread-safe.

#pragma once

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/soak/admitted.h"
#include "tests/soak/calls.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/wait_until.h"

namespace headgate::soak {

struct SoakState {
  SoakState(std::string server, const Bound& rows_bound)
      : address(std::move(server)), rows(rows_bound, MonotonicNs()) {}

  std::shared_ptr<grpc::Channel> Connect() const { return OwnChannel(address); }

  // Between two calls; ends early with the soak.
  void Rest(int milliseconds) const {
    constexpr int kStep = 50;
    for (int rested = 0; rested < milliseconds && !stopping(); rested += kStep) {
      poll(nullptr, 0, milliseconds - rested < kStep ? milliseconds - rested : kStep);
    }
  }

  // Relaxed: nothing else is read by what it says.
  bool stopping() const { return stop.load(std::memory_order_relaxed); }

  const std::string address;
  Calls calls;
  Admitted rows;  // of the budget that all Checks on "etl" are charged to
  std::atomic<bool> stop{false};
  std::atomic<int64_t> allowed{0};  // Checks; relaxed, as they are only counted
  std::atomic<int64_t> denied{0};
  std::atomic<int64_t> unreported{0};
};

// Of one call. Nobody waits for ever, and a machine that takes so long to answer is no surprise of
// the server's.
struct Context : grpc::ClientContext {
  explicit Context(int seconds = 30) { set_deadline(gpr_time_from_seconds(seconds, GPR_TIMESPAN)); }
};

}  // namespace headgate::soak
