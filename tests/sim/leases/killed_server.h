// KilledServer: twenty greedy holders of one budget whose server is killed, and what they spend
// together from then on, until the last safe rate is over.
//
// They ask the real engine, half a millisecond away, and hold the C++ SDK's real LeaseHolder; from
// the kill on nobody answers, which they find out when a call has failed.
//
// Thread-compatible; time is simulated.
//
//   const SafeSpending spent = SpendAfterTheKill({.seed = 1});
//   EXPECT_EQ(spent.over, 0);

#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace headgate::leases {

struct KilledServerOptions {
  uint64_t seed = 1;
  int holders = 20;
  double rate = 20'000;
  double burst = 20'000;
  absl::Duration safe_time = absl::Seconds(10);
};

struct SafeSpending {
  double held = 0;        // of leases when it was killed: charged by then
  double safely = 0;      // at safe rates, until they were over
  double afterwards = 0;  // when they were over
  // By how much the holders were above what they held and the budget's rate since the kill, at
  // worst; 0: never.
  double over = 0;
};

SafeSpending SpendAfterTheKill(const KilledServerOptions& options);

}  // namespace headgate::leases
