// The steps of a scenario that are about leases, and what they expect.
//
// Throws where the scenario says what this runner does not know. Thread-compatible; steps of a
// background may use a lease that was made before.
//
//   Leases leases;
//   if (Leases::Knows(verb)) leases.Do(step, verb, world, stop, outcome);
#pragma once

#include <headgate/lease.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "tests/sdk/cpp/expectation.h"
#include "tests/sdk/cpp/world.h"

namespace headgate::client {

class Leases {
 public:
  static bool Knows(const std::string& verb);
  void Do(const YAML::Node& step, const std::string& verb, World& world,
          const std::stop_token& stop, Outcome& outcome);

 private:
  Lease& Named(const YAML::Node& what);

  std::map<std::string, std::unique_ptr<Lease>> leases_;
};

// Whether the key is about a lease's step, and judged: complaints are added.
bool OfLeases(const std::string& key, const YAML::Node& want, const Outcome& got, Place place,
              Complaints& complaints);

}  // namespace headgate::client
