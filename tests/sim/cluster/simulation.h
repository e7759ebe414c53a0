// A deployment of several servers in which everything goes wrong, in one thread and by one seed.
//
// Machines run the real Protocol. Between them and the store, and among each other, messages are
// delayed, lost, repeated and cut off; clocks run at 0.5 to 1.5 times true time; machines stop for
// a while, crash, come back, leave, and are drained; targets are moved; a second server has the
// name of another. Callers ask for every target all the time, and an observer who knows true time
// holds what happens against what is promised. The same seed does the same.
//
//   Simulation simulation({.seed = 7});
//   simulation.Run(absl::Minutes(10));
//   EXPECT_EQ(simulation.violation(), "");

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/share/cluster/protocol.h"
#include "tests/sim/cluster/model_store.h"
#include "tests/sim/cluster/simulated_target.h"

namespace headgate::cluster {

// What each safeguard is for shows where it is missing.
enum class Broken : uint8_t {
  kNothing,
  kFencing,   // the store looks at no generation
  kTrust,     // a lease is trusted from the end of the attempt
  kLearning,  // what is not known of a crashed owner is taken for nothing
  kAll,       // an owner decides on without the store where most agree, and not all
  kPromise,   // who agreed to that is not bound by it
  kListed,    // whom an owner does not ask may replace it all the same
  kMarks,     // who goes on from a final state leaves no mark on it
};

struct SimulationOptions {
  uint64_t seed = 1;
  int machines = 4;
  int targets = 6;
  double slowest_clock = 0.5;
  double fastest_clock = 1.5;
  bool store_clock_is_set = false;  // now and then, by up to 20 s either way
  // Now and then a server lacks a target, or does not reach its database.
  bool servers_differ = false;
  // Now and then a server, or all of them, can neither read nor write states.
  bool states_fail = false;
  int earlier_releases = 0;  // servers that say nothing of what they have, and do not hear of it
  // With kKeep the store is away for longer, and no two servers have one name.
  OnStoreLoss on_store_loss = OnStoreLoss::kStop;
  Broken broken = Broken::kNothing;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Faults, and each half minute some time without, after which everything has to be owned. Ends
  // early at the first violation.
  void Run(absl::Duration span);

  // What was promised and does not hold, with the time; empty: all does.
  const std::string& violation() const { return violation_; }
  int64_t handovers() const { return store_.handovers(); }
  int64_t admitted() const { return admitted_; }
  // How often somebody was seen to decide whose lease had ended.
  int64_t kept() const { return kept_; }
  // Equal for equal runs.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Machine;
  struct Event {
    int64_t at_ns;
    uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  // Random choices.
  double Uniform(double low, double high);
  bool Happens(double probability) { return Uniform(0, 1) < probability; }
  int Pick(int count) { return static_cast<int>(Uniform(0, count)); }
  int64_t Delay();

  void At(int64_t at_ns, std::function<void()> what);
  void After(double seconds, std::function<void()> what);
  // On that machine, once it runs, unless its process has ended.
  void On(int machine, int64_t at_ns, std::function<void(Machine&)> what);
  void Violate(const std::string& what);
  absl::Time StoreNow() const;

  // Machines.
  void Start(int machine, const std::string& name);
  void Crash(Machine& machine);
  void Wake(Machine& machine);
  void Do(Machine& machine, const Action& action);
  void DoRound(Machine& machine, const RoundRequest& request);
  void DoTake(Machine& machine, const Held& held);
  void DoSave(Machine& machine, const Held& held);
  void DoPassOn(Machine& machine, const Held& held);
  void DoMeasure(Machine& machine, const Measure& measure);
  void TellMeasured(Machine& machine, const std::string& target);
  // Another configuration, which may lack a target.
  void Configure(Machine& machine);
  // Somebody is there who has the target, and of whom the others know that.
  bool IsToBeOwned(const std::string& target) const;
  void DoTell(Machine& machine, const Tell& tell);
  void DoAskToKeep(Machine& machine, const AskToKeep& ask);
  bool Agrees(Machine& machine, const KeepQuestion& question) const;
  bool IsAgreed(Machine& machine, const std::string& by, bool agrees) const;
  bool IsLost(const Machine& from, const Machine& to);
  void Write(Machine& machine, const Held& held, bool is_final,
             std::function<void(Machine&, const absl::Status&)> then);
  void WriteStates(int machine, uint64_t process);
  void TryStates(int machine, uint64_t process);
  // Of this machine, at the store.
  absl::Status StatesOf(int machine) const;
  // A call of the store: `ask` happens there, maybe twice or never; `then` here, in time or with an
  // error.
  template <typename Answer>
  void CallStore(Machine& machine, std::function<Answer()> ask,
                 std::function<void(Machine&, const Answer&)> then, Answer failed);

  // The world.
  void Caller();
  void Ask(Machine& machine, const std::string& target);
  void Faults();
  void Fault();
  void FailStates(Machine& machine);
  // Several at once, as when a deployment is stopped.
  void LeaveTogether();
  void Heal();
  void CheckOwners(const std::string& target);
  int64_t NoOwnerAtMost() const;
  void CheckOverrides();

  const SimulationOptions options_;
  const SimulatedBudget budget_;
  std::mt19937_64 random_;
  ModelStore store_;
  std::priority_queue<Event> events_;
  uint64_t next_event_ = 0;
  int64_t now_ns_ = 0;
  int64_t store_offset_ns_ = 0;
  bool is_store_away_ = false;
  double loss_ = 0;
  bool is_calm_ = false;  // no new faults
  int64_t calm_since_ns_ = 0;
  std::map<std::string, int64_t> last_owned_ns_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::set<std::string> targets_;
  std::map<std::string, Promise> promises_;
  uint64_t acknowledged_ = 0;  // the newest override that somebody was told is kept
  uint64_t next_process_ = 1;
  int64_t admitted_ = 0;
  int64_t kept_ = 0;
  uint64_t fingerprint_ = 0;
  std::string violation_;
};

}  // namespace headgate::cluster
