// One server of a simulation: a process on a machine whose clock has a rate of its own.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/share/cluster/protocol.h"
#include "tests/sim/cluster/simulated_target.h"
#include "tests/sim/cluster/simulation.h"

namespace headgate::cluster {

struct Simulation::Machine {
  Machine(ProtocolOptions options, int at, uint64_t number)
      : protocol(std::move(options)), index(at), process(number) {}

  int64_t Local(int64_t true_ns) const {
    return base_ns + static_cast<int64_t>(static_cast<double>(true_ns - started_ns) * rate);
  }
  // How long a span of its clock takes; rounded up.
  int64_t TrueSpan(int64_t local_ns) const {
    return static_cast<int64_t>(static_cast<double>(local_ns) / rate) + 1;
  }
  bool Decides(const std::string& target, int64_t true_ns) const {
    return is_up && true_ns >= stopped_until_ns && protocol.IsMine(target, Local(true_ns));
  }
  // Without a lease.
  bool Keeps(const std::string& target, int64_t true_ns) const {
    return Decides(target, true_ns) &&
           Local(true_ns) >= protocol.holdings().at(target).trusted_until_ns;
  }

  Protocol protocol;
  const int index;
  const uint64_t process;
  double rate = 1;
  int64_t base_ns = 0;
  int64_t started_ns = 0;  // true
  bool is_up = true;
  bool is_cut_from_store = false;
  bool is_cut_from_peers = false;
  bool is_cut_from_states = false;  // its rounds go on
  int64_t stopped_until_ns = 0;     // true
  int64_t wake_ns = 0;              // true
  std::map<std::string, SimulatedBucket> buckets;
  std::string lacks;                     // a target; empty: it has all
  std::map<std::string, bool> measured;  // that it is to measure, and whether it reaches them
  bool is_of_earlier_release = false;
  uint64_t writes = 0;
  uint64_t overrides = 0;             // revision that it has read
  std::map<std::string, bool> agree;  // how others answered last
};

}  // namespace headgate::cluster
