// What the parts of the bench of leases share: a clock, and an end where nothing can be measured.
//
// Pure, but that they end the program.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/system_clock.h"

namespace headgate::bench {

[[noreturn]] inline void Fail(const std::string& what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
  std::exit(1);
}

template <typename T>
T Take(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(value.status().ToString());
  return *std::move(value);
}

// Monotonic.
inline double NowSeconds() {
  static SystemClock clock;
  return 1e-9 * static_cast<double>(clock.Read().monotonic_ns);
}

}  // namespace headgate::bench
