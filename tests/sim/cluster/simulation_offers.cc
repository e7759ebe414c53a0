// What servers of a simulation have, and how they measure it.

#include "absl/strings/str_cat.h"
#include "tests/sim/cluster/simulated_machine.h"
#include "tests/sim/cluster/simulation.h"

namespace headgate::cluster {

void Simulation::DoMeasure(Machine& machine, const Measure& measure) {
  if (!measure.wanted) {
    machine.measured.erase(measure.target);
    return;
  }
  machine.measured[measure.target] = is_calm_ || !options_.servers_differ || !Happens(0.2);
  const double seconds = Happens(0.1) ? Uniform(0.1, 3) : Uniform(0.002, 0.05);
  On(machine.index, now_ns_ + static_cast<int64_t>(seconds * 1e9),
     [this, target = measure.target](Machine& on) { TellMeasured(on, target); });
}

void Simulation::TellMeasured(Machine& machine, const std::string& target) {
  const auto measured = machine.measured.find(target);
  if (measured == machine.measured.end()) return;
  machine.protocol.OnMeasured(target, measured->second ? Measures::kAll : Measures::kNothing,
                              measured->second ? "" : "refused", machine.Local(now_ns_));
  Wake(machine);
}

void Simulation::Configure(Machine& machine) {
  const bool lacks_one = options_.servers_differ && !machine.is_of_earlier_release && Happens(0.3);
  machine.lacks = lacks_one ? absl::StrCat("target-", Pick(options_.targets)) : "";
  std::map<std::string, uint64_t> targets;
  for (const std::string& target : targets_) {
    if (target != machine.lacks) targets.emplace(target, lacks_one ? 2 : 1);
  }
  machine.protocol.SetTargets(targets);
}

bool Simulation::IsToBeOwned(const std::string& target) const {
  bool is_had = false, is_lacked = false;
  for (const auto& machine : machines_) {
    if (!machine->is_up || machine->protocol.name_is_taken()) continue;
    is_lacked = is_lacked || machine->lacks == target;
    is_had = is_had || (machine->lacks != target && !machine->is_of_earlier_release);
  }
  return is_had || !is_lacked;
}

}  // namespace headgate::cluster
