// Leases admit nothing too much, whatever happens to their holders and to the servers:
// tests/sim/leases/world.h says what that means, word for word.
//
// HEADGATE_LEASE_SEED and HEADGATE_LEASE_STEPS run another seed, and another number of steps.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/leases/world.h"
#include "tests/testing/test_scale.h"

namespace headgate::leases {
namespace {

uint64_t Number(const char* name, uint64_t usual) {
  const char* const text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

void Print(const World& world) {
  const WorldTally all = world.tally();
  std::printf(
      "%lld pieces and %lld checks by %lld grants, %lld returns of %lld pieces; %lld deaths, "
      "%lld stalls, %lld cuts, %lld clocks set, %lld closed; %lld restarts, %lld kills, %lld "
      "moves, "
      "%lld policies, %lld speeds\n",
      static_cast<long long>(all.pieces), static_cast<long long>(all.checks),
      static_cast<long long>(all.grants), static_cast<long long>(all.returns),
      static_cast<long long>(all.counted), static_cast<long long>(all.deaths),
      static_cast<long long>(all.stalls), static_cast<long long>(all.cuts),
      static_cast<long long>(all.clocks), static_cast<long long>(all.closed),
      static_cast<long long>(all.restarts), static_cast<long long>(all.kills),
      static_cast<long long>(all.moves), static_cast<long long>(all.policies),
      static_cast<long long>(all.speeds));
}

TEST(LeaseSimulation, NothingIsAdmittedTooMuchWhateverFails) {
  World world({.seed = Number("HEADGATE_LEASE_SEED", 1)});
  world.Run(static_cast<int64_t>(
      Number("HEADGATE_LEASE_STEPS", static_cast<uint64_t>(Scaled(1'000'000)))));
  EXPECT_EQ(world.violation(), "");
  EXPECT_EQ(world.over_admitted(), 0);
  Print(world);
}

}  // namespace
}  // namespace headgate::leases
