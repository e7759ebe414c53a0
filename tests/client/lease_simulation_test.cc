// Leases admit nothing too much, whatever happens to their holders and to the servers:
// tests/sim/leases/world.h says what that means, word for word.
//
// A failure says its seed and step. HEADGATE_LEASE_SEED and HEADGATE_LEASE_STEPS run another seed,
// and another number of steps. A short run takes a million of them, in a second.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/leases/killed_server.h"
#include "tests/sim/leases/world.h"
#include "tests/testing/test_scale.h"

namespace headgate::leases {
namespace {

using ::testing::HasSubstr;

// Sanitizers find in a few steps what there is to find.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSteps = 300'000;
#else
constexpr int kSteps = 10'000'000;
#endif

int64_t Number(const char* name, int64_t usual) {
  const char* const text = std::getenv(name);
  return text == nullptr ? usual : std::strtoll(text, nullptr, 10);
}

// What is violated where so much is broken, by the first seed that violates anything.
std::string ViolationWith(Broken broken) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    World world({.seed = seed, .broken = broken});
    world.Run(100'000);
    if (!world.violation().empty()) return world.violation();
  }
  return "";
}

TEST(LeaseSimulation, NothingIsAdmittedTooMuchWhateverFails) {
  World world({.seed = static_cast<uint64_t>(Number("HEADGATE_LEASE_SEED", 1))});
  world.Run(Number("HEADGATE_LEASE_STEPS", Scaled(kSteps)));
  EXPECT_EQ(world.violation(), "");
  EXPECT_EQ(world.over_admitted(), 0);
  const WorldTally all = world.tally();
  std::cout << all.pieces << " pieces and " << all.checks << " Checks by " << all.grants
            << " grants, " << all.spent_safely << " spent at safe rates, " << all.returns
            << " returns of " << all.counted << " pieces; " << all.deaths << " deaths, "
            << all.stalls << " stalls, " << all.cuts << " cuts, " << all.clocks << " clocks set, "
            << all.closed << " closed; " << all.restarts << " restarts, " << all.kills << " kills, "
            << all.moves << " moves, " << all.policies << " policies, " << all.speeds
            << " speeds\n";
}

// A server that is killed: what is spent then is what was held, and no more than the budget's rate;
// and in the end nothing.
TEST(LeaseSimulation, HoldersOfADeadServerKeepToTheRateUntilTheirSafeTimeIsOver) {
  for (const double burst : {2'000.0, 20'000.0, 200'000.0}) {
    const SafeSpending spending = SpendAfterTheKill({.burst = burst});
    EXPECT_EQ(spending.over, 0) << burst;
    EXPECT_GT(spending.safely, 0.5 * 20'000 * 10) << burst;
    EXPECT_EQ(spending.afterwards, 0) << burst;
  }
}

// Where one of these has become rare, the simulation does not test what it is for.
TEST(LeaseSimulation, AllThatIsToHappenDoes) {
  World world({.seed = 2});
  world.Run(300'000);
  ASSERT_EQ(world.violation(), "");
  const WorldTally all = world.tally();
  EXPECT_GT(all.pieces, 50'000);
  EXPECT_GT(all.checks, 200);
  EXPECT_GT(all.returns, 2'000);
  EXPECT_GT(all.spent_safely, 1'000);
  for (const int64_t faults : {all.deaths, all.stalls, all.clocks, all.closed}) {
    EXPECT_GT(faults, 25);
  }
  EXPECT_GT(all.cuts, 100);
  for (const int64_t faults : {all.restarts, all.kills, all.policies, all.speeds}) {
    EXPECT_GT(faults, 10);
  }
  EXPECT_GT(all.moves, 30);
}

TEST(LeaseSimulation, SameSeedDoesTheSame) {
  const auto run = [](uint64_t seed) {
    World world({.seed = seed});
    world.Run(50'000);
    return world.fingerprint();
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

// Each safeguard is missed when it is not there.
TEST(LeaseSimulation, CatchesAServerThatStartsWithoutItsState) {
  EXPECT_NE(ViolationWith(Broken::kRestore), "");
}

TEST(LeaseSimulation, CatchesATargetThatMovesWithoutItsState) {
  EXPECT_NE(ViolationWith(Broken::kHandover), "");
}

TEST(LeaseSimulation, CatchesReturnsThatGiveBackTooMuch) {
  EXPECT_THAT(ViolationWith(Broken::kReturns), HasSubstr("above its burst and what drained"));
}

TEST(LeaseSimulation, CatchesAHolderThatKnowsTooLateThatItsLeaseIsOver) {
  EXPECT_THAT(ViolationWith(Broken::kClock), HasSubstr("after its lease's end"));
}

}  // namespace
}  // namespace headgate::leases
