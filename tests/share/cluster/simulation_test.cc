#include "tests/sim/cluster/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "absl/time/time.h"
#include "tests/testing/test_scale.h"

namespace headgate::cluster {
namespace {

using ::testing::HasSubstr;

// Sanitizers find in a few of them what there is to find.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

int64_t Handovers(int64_t in_short_run) {
  if (kIsSanitized) return in_short_run / 10;
  return TestScale() < 1 ? in_short_run : 100 * in_short_run;
}

struct Seeds {
  uint64_t last = 0;
  std::string violation;
};

// Runs seeds after that one until so many handovers have happened, or something is violated.
Seeds RunSeeds(int64_t handovers, SimulationOptions options, uint64_t after = 0) {
  Seeds seeds = {.last = after, .violation = ""};
  for (int64_t seen = 0; seen < handovers && seeds.violation.empty();) {
    options.seed = ++seeds.last;
    Simulation simulation(options);
    simulation.Run(absl::Minutes(10));
    seen += simulation.handovers();
    seeds.violation = simulation.violation();
  }
  std::cout << "seeds " << after + 1 << " to " << seeds.last << '\n';
  return seeds;
}

TEST(Simulation, PromisesHoldWhateverFails) {
  EXPECT_EQ(RunSeeds(Handovers(10'000), {}).violation, "");
}

TEST(Simulation, PromisesHoldThoughTheClockOfTheStoreIsSet) {
  const SimulationOptions options = {
      .slowest_clock = 0.8, .fastest_clock = 1.2, .store_clock_is_set = true};
  EXPECT_EQ(RunSeeds(Handovers(3'000), options).violation, "");
}

TEST(Simulation, PromisesHoldThoughOwnersGoOnWithoutTheStore) {
  EXPECT_EQ(RunSeeds(Handovers(5'000), {.on_store_loss = OnStoreLoss::kKeep}).violation, "");
}

// Some lack a target, or do not reach its database, and now and then others do.
TEST(Simulation, PromisesHoldThoughServersDiffer) {
  EXPECT_EQ(RunSeeds(Handovers(4'000), {.servers_differ = true}).violation, "");
}

// Rounds go well, and what owners know cannot be written, or read.
TEST(Simulation, PromisesHoldThoughStatesCannotBeKept) {
  EXPECT_EQ(RunSeeds(Handovers(4'000), {.states_fail = true}).violation, "");
  EXPECT_EQ(RunSeeds(Handovers(2'000), {.servers_differ = true, .states_fail = true}).violation,
            "");
}

TEST(Simulation, PromisesHoldBesideAServerOfAnEarlierRelease) {
  const SimulationOptions options = {
      .slowest_clock = 0.8, .fastest_clock = 1.2, .servers_differ = true, .earlier_releases = 1};
  EXPECT_EQ(RunSeeds(Handovers(2'000), options).violation, "");
}

TEST(Simulation, OwnersGoOnWithoutTheStore) {
  Simulation simulation({.seed = 7, .on_store_loss = OnStoreLoss::kKeep});
  simulation.Run(absl::Minutes(10));
  EXPECT_GT(simulation.kept(), 200);
}

TEST(Simulation, SameSeedDoesTheSame) {
  const auto run = [](uint64_t seed) {
    Simulation simulation({.seed = seed});
    simulation.Run(absl::Minutes(1));
    return simulation.fingerprint();
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

// Each safeguard is missed when it is not there. Where many seeds miss nothing, those are passed
// over.
TEST(Simulation, CatchesAStoreThatDoesNotFence) {
  EXPECT_NE(RunSeeds(100'000, {.broken = Broken::kFencing}).violation, "");
}

TEST(Simulation, CatchesTrustFromTheEndOfTheAttempt) {
  EXPECT_THAT(RunSeeds(100'000, {.broken = Broken::kTrust}).violation, HasSubstr("that admit"));
}

TEST(Simulation, CatchesAnOwnerThatDoesNotLearn) {
  EXPECT_THAT(RunSeeds(100'000, {.broken = Broken::kLearning}).violation,
              HasSubstr("more than promised"));
}

TEST(Simulation, CatchesAFinalStateThatTwoGoOnFrom) {
  EXPECT_THAT(RunSeeds(100'000, {.broken = Broken::kMarks}, 120).violation,
              HasSubstr("more than promised"));
}

// What most agree to is what one may be against who takes the target.
TEST(Simulation, CatchesOwnersThatGoOnWhereMostAgree) {
  const SimulationOptions options = {.on_store_loss = OnStoreLoss::kKeep, .broken = Broken::kAll};
  EXPECT_THAT(RunSeeds(100'000, options, 18).violation, HasSubstr("that admit"));
}

TEST(Simulation, CatchesAnAgreementThatBindsNobody) {
  const SimulationOptions options = {.on_store_loss = OnStoreLoss::kKeep,
                                     .broken = Broken::kPromise};
  EXPECT_THAT(RunSeeds(100'000, options).violation, HasSubstr("that admit"));
}

TEST(Simulation, CatchesAServerThatReplacesAnOwnerWhichDoesNotAskIt) {
  const SimulationOptions options = {.on_store_loss = OnStoreLoss::kKeep,
                                     .broken = Broken::kListed};
  EXPECT_THAT(RunSeeds(100'000, options).violation, HasSubstr("that admit"));
}

}  // namespace
}  // namespace headgate::cluster
