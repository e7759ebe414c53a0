// A backfill of several workers on a model database, under a law.
//
// The workers do what jobs do: they ask a real engine before each chunk, wait as long as they are
// told, work, and report how long it took. What sets the rate is the law: the real controller in
// its real loop, one that it is compared with, or nothing.
//
// Deterministic.
//
//   const Outcome alone = Simulate({.model = model, .law = Law::kAlone});
//   const Outcome held = Simulate({.model = model, .law = Law::kController});
//   held.foreground / alone.foreground

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/sim/model_database.h"
#include "tests/sim/model_spec.h"

namespace headgate::sim {

enum class Law : uint8_t {
  kAlone,   // no batch work
  kGreedy,  // workers do not wait
  kFixedRate,
  kHardGate,
  kAimd,
  kPairedProbing,
  kPulses,  // the law that was in force before
  kController,
  kUntold,  // the same, but nobody tells it that sessions yield
};

struct Scenario {
  ModelSpec model = {};
  Law law = Law::kController;
  double fixed_rate = 0;  // busy seconds a second
  double warm_up = 5;     // s that do not count
  double seconds = 60;    // s that do
  uint64_t seed = 1;
  // s; the server stops and its next process begins where it left its snapshot. 0: it does not.
  double restart_at = 0;
  double down_for = 0;  // s, in which workers get no answer, and keep their reports
  // Whether a sample taken now fails.
  std::function<bool(double now)> fails = nullptr;
  // Before each sample.
  std::function<void(ModelDatabase&)> meanwhile = nullptr;
};

struct Outcome {
  double foreground = 0;  // transactions a second, while there is one
  double mean_ms = 0, deviation_ms = 0, p99_ms = 0, p999_ms = 0, longest_ms = 0;
  double work = 0;   // of the batch, seconds of a core a second
  double busy = 0;   // of the batch, busy seconds a second
  double rows = 0;   // of the batch, a second, where its chunks have rows
  double chunk = 0;  // busy seconds that one took, on average
  // The rate that was found, ten times a second, warm-up included.
  std::vector<double> rates = {};
};

Outcome Simulate(const Scenario& scenario);

// What the best fixed rate does, in seconds of a core a second: the one that leaves the foreground
// 0.95 of what it does alone, with a mean latency up to 1.1 and a deviation up to 1.25 times as
// large.
double OracleWork(Scenario scenario, int seeds);

}  // namespace headgate::sim
