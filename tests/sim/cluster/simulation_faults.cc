// What goes wrong in a simulation, and when it has to be right again.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/cluster/simulated_machine.h"
#include "tests/sim/cluster/simulation.h"

namespace headgate::cluster {
namespace {

constexpr double kFaultySeconds = 30;
constexpr double kCalmSeconds = 30;
// How long the slowest clock needs for two leases.
constexpr double kTwoLeases = 6;
// Where owners may decide on without the store: who agreed to that then waits for two leases more.
constexpr double kFourLeases = 12;
// Where the store's clock was set back, a dead owner's lease ends by the claimants' clocks alone,
// after three leases; and where it was by less than a lease, a name is refused to the next process
// for up to two.
constexpr double kFiveLeases = 15;

}  // namespace

// Half a minute of faults, then none until everything is owned.
void Simulation::Faults() {
  is_calm_ = false;
  for (double at = 0; at < kFaultySeconds; at += Uniform(0.2, 2)) {
    After(at, [this] { Fault(); });
  }
  After(kFaultySeconds, [this] { Heal(); });
}

void Simulation::Fault() {
  Machine& machine = *machines_[static_cast<size_t>(Pick(options_.machines))];
  const int index = machine.index;
  const auto later = [this, index](double seconds, std::function<void(Machine&)> what) {
    After(seconds,
          [this, index, what = std::move(what)] { what(*machines_[static_cast<size_t>(index)]); });
  };
  if (options_.on_store_loss == OnStoreLoss::kKeep && Happens(0.25)) {
    is_store_away_ = true;
    return After(Uniform(1, 20), [this] { is_store_away_ = false; });
  }
  if (options_.states_fail && Happens(0.2)) return FailStates(machine);
  if (options_.servers_differ && Happens(0.2)) {
    if (Happens(0.5) && !machine.measured.empty()) {
      auto& [target, is_reached] = *machine.measured.begin();
      is_reached = Happens(0.5);
      return On(index, now_ns_, [this, target = target](Machine& on) { TellMeasured(on, target); });
    }
    Configure(machine);
    return On(index, now_ns_, [this](Machine& on) { Wake(on); });
  }
  switch (Pick(options_.store_clock_is_set ? 11 : 10)) {
    case 0:
    case 1:
      return Crash(machine);
    case 2:
      machine.stopped_until_ns = now_ns_ + static_cast<int64_t>(Uniform(0.1, 12) * 1e9);
      return;
    case 3:
      machine.is_cut_from_store = true;
      return later(Uniform(0.1, 8), [](Machine& on) { on.is_cut_from_store = false; });
    case 4:
      machine.is_cut_from_peers = true;
      return later(Uniform(0.1, 8), [](Machine& on) { on.is_cut_from_peers = false; });
    case 5:
      is_store_away_ = Happens(0.5);
      return After(Uniform(0.1, 5), [this] { is_store_away_ = false; });
    case 6:
      loss_ = Happens(0.5) ? Uniform(0, 0.4) : 0;
      return;
    case 7:
      if (Happens(0.3)) return LeaveTogether();
      machine.protocol.Leave();
      return On(index, now_ns_, [this](Machine& on) { Wake(on); });
    case 8:
      return store_.SetPreferred(absl::StrCat("target-", Pick(options_.targets)),
                                 Happens(0.3) ? "" : absl::StrCat("headgate-", index));
    case 9:
      if (options_.on_store_loss == OnStoreLoss::kStop && Happens(0.5)) {
        // A second one of a name that somebody has.
        Crash(machine);
        return Start(index, absl::StrCat("headgate-", Pick(options_.machines)));
      }
      store_.SetDrained(absl::StrCat("headgate-", index), Happens(0.4));
      return;
    default:
      store_offset_ns_ += static_cast<int64_t>(Uniform(-20, 20) * 1e9);
      return;
  }
}

// Of one server, as by a missing grant, or of all, as of a table that is gone.
void Simulation::FailStates(Machine& machine) {
  const bool is_of_all = Happens(0.3);
  for (const auto& one : machines_) {
    if (is_of_all || one.get() == &machine) one->is_cut_from_states = true;
  }
  After(Uniform(0.1, 20), [this, index = machine.index, is_of_all] {
    for (const auto& one : machines_) {
      if (is_of_all || one->index == index) one->is_cut_from_states = false;
    }
  });
}

void Simulation::LeaveTogether() {
  for (const auto& machine : machines_) {
    if (!machine->is_up || Happens(0.2)) continue;
    On(machine->index, now_ns_ + Delay(), [this](Machine& on) {
      on.protocol.Leave();
      Wake(on);
    });
  }
}

void Simulation::Heal() {
  is_calm_ = true;
  calm_since_ns_ = now_ns_;
  is_store_away_ = false;
  loss_ = 0;
  for (auto& machine : machines_) {
    if (!machine->is_up) {
      Start(machine->index, absl::StrCat("headgate-", machine->index));
      continue;
    }
    machine->is_cut_from_store = false;
    machine->is_cut_from_peers = false;
    machine->is_cut_from_states = false;
    machine->stopped_until_ns = std::min(machine->stopped_until_ns, now_ns_);
    for (auto& [target, is_reached] : machine->measured) {
      is_reached = true;
      On(machine->index, now_ns_,
         [this, target = target](Machine& on) { TellMeasured(on, target); });
    }
  }
  // Somebody makes an override, and is told so.
  acknowledged_ = store_.AddOverride();
  After(kCalmSeconds, [this] {
    CheckOverrides();
    Faults();
  });
}

int64_t Simulation::NoOwnerAtMost() const {
  double seconds = kTwoLeases;
  if (options_.on_store_loss == OnStoreLoss::kKeep) seconds = kFourLeases;
  // A server that keeps states again has done so for a lease before it is given anything.
  if (options_.states_fail) seconds = kFourLeases;
  if (options_.store_clock_is_set) seconds = kFiveLeases;
  // Whose turn it is that one takes for able which is not: the others come a lease later each.
  if (options_.earlier_releases > 0) seconds = kFiveLeases;
  return static_cast<int64_t>(seconds / options_.slowest_clock * 1e9);
}

void Simulation::CheckOverrides() {
  for (const auto& machine : machines_) {
    if (machine->is_up && machine->overrides < acknowledged_) {
      Violate(absl::StrCat("override ", acknowledged_, " is not known to all"));
    }
  }
}

}  // namespace headgate::cluster
