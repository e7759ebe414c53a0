// World: holders of leases, jobs that ask for each chunk, two servers and two targets, in which
// everything goes wrong, in one thread and by one seed.
//
// Holders die and are replaced, stand still for longer than their leases, close; their clocks are
// set; either direction of their network is cut, and what is sent is late, lost or repeated.
// Servers stop and are killed, targets move, policies and speeds change. After each step all that
// Observer knows is held against what is promised:
//
//   For each bucket whose limit is enforced, and for each interval: what was admitted, by Checks
//   and by pieces of leases, each counted when the server charged it, is at most the burst and
//   what drained in that interval at the rates and speeds that the servers knew. What is granted
//   and not spent is not counted: so what is given back must have been charged, not have drained
//   and not have been given back before.
//
// Beyond that is allowed only what the docs say:
// - A server that is killed and comes back has forgotten what it admitted since its last copy, and
//   which returns it settled; it knows the speed and the rate of that time (docs/algorithm.md,
//   "Debt across a restart"). Nothing else is forgotten, and nothing at all where another server
//   takes over, or the same one stops and starts; except that where a burst was made smaller after
//   the last copy of a server that was killed, the smaller one is what may have been admitted.
// - Where a server does not know how much time has passed since a state was saved, as where a
//   target has moved, it charges the safe rates of leases from before later than their holders use
//   them.
// - A Check or a lease of one piece that is predicted to cost more than a budget can ever admit is
//   let through now and then to be measured, and counts as what that budget can admit
//   (docs/health.md, "Probes").
// - A Report of an actual cost is believed, and what is above the prediction is not admitted work.
// - A budget that only warns has no limit; who is exempt is charged to none.
//
// The same seed does the same.
//
//   World world({.seed = 7});
//   world.Run(1'000'000);
//   EXPECT_EQ(world.violation(), "");

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/leases/checker.h"
#include "tests/sim/leases/cluster.h"
#include "tests/sim/leases/holder.h"
#include "tests/sim/leases/observer.h"
#include "tests/sim/leases/timeline.h"

namespace headgate::leases {

struct WorldOptions {
  uint64_t seed = 1;
  Broken broken = Broken::kNothing;
};

// How often what happened, so that it is seen that all of it does.
struct WorldTally {
  int64_t pieces = 0, checks = 0, grants = 0, returns = 0, counted = 0;
  double spent_safely = 0;  // cost, at safe rates
  int64_t deaths = 0, stalls = 0, cuts = 0, clocks = 0, closed = 0;
  int64_t restarts = 0, kills = 0, moves = 0, policies = 0, speeds = 0;
};

class World {
 public:
  explicit World(const WorldOptions& options);

  // So many steps more, or until something is violated.
  void Run(int64_t steps);

  // What was promised and does not hold, with seed, step and time; empty: all does.
  const std::string& violation() const { return timeline_.violation(); }
  // By how much a bucket has admitted more than it may in any interval, at worst; 0: never.
  double over_admitted() const;
  WorldTally tally() const;
  // Equal for equal runs.
  uint64_t fingerprint() const;

 private:
  void AddHolders();
  void AddCheckers();
  void HolderFault();
  void ServerFault();
  void Order();
  void Trim();

  Timeline timeline_;
  Observer observer_;
  Cluster cluster_;
  std::vector<std::unique_ptr<Holder>> holders_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  const Broken broken_;
  WorldTally tally_;
};

}  // namespace headgate::leases
