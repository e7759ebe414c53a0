// A backfill of several workers on a model database, under a law.
//
// The workers do what jobs do: they ask a real engine before each chunk, wait as long as they are
// told, work, and report how long it took. What decides the rate is the law: the real controller in
// its real loop, a fixed rate, a gate on active sessions, or nothing.
//
// Deterministic. Pure but for what it computes.
//
//   const Outcome alone = Simulate({.workload = kTpcb, .workers = 0});
//   const Outcome held = Simulate({.workload = kTpcb, .law = Law::kController});
//   held.foreground / alone.foreground

#ifndef HEADGATE_TESTS_SIM_SIMULATION_H_
#define HEADGATE_TESTS_SIM_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "server/health/auto_controller.h"
#include "tests/sim/model_database.h"

namespace headgate::sim {

enum class Law : uint8_t { kNone, kFixedRate, kHardGate, kController };

struct Scenario {
  Workload workload;
  Law law = Law::kNone;
  double fixed_rate = 0;  // busy seconds a second
  int workers = 8;
  double chunk = 0.02;  // core seconds of one
  double warm_up = 10;  // seconds that do not count
  double seconds = 60;  // that do
  uint64_t seed = 1;
  // Called before each step; the time is the model's.
  std::function<void(ModelDatabase&)> meanwhile = nullptr;
};

struct Outcome {
  double foreground = 0;  // transactions a second
  double batch = 0;       // core seconds of batch work done a second
  // The rate that was in force, ten times a second, warm-up included.
  std::vector<double> rates;
};

Outcome Simulate(const Scenario& scenario);

// The best fixed rate: that which does most batch work and leaves the foreground `least` of what it
// does alone. Its outcome.
Outcome FindOracle(Scenario scenario, double alone, double least);

}  // namespace headgate::sim

#endif  // HEADGATE_TESTS_SIM_SIMULATION_H_
