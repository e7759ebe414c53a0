// Player: plays the steps of one scenario.
//
// Throws where the scenario says what this runner does not know.
//
//   Player player(text, Place::kServer);
//   for (const std::string& wrong : player.Play()) ADD_FAILURE() << wrong;
#pragma once

#include <headgate/client.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/sdk/cpp/expectation.h"
#include "tests/sdk/cpp/leases.h"
#include "tests/sdk/cpp/world.h"

namespace headgate::client {

class Player {
 public:
  Player(const std::string& text, Place place) : world_(text, place) {}

  // To the first step that goes wrong.
  Complaints Play();

 private:
  // A step that goes on while others follow. Its threads end before it does.
  struct Background {
    std::mutex mutex;  // guards the outcomes
    std::vector<Outcome> outcomes;
    std::vector<std::jthread> workers;
  };

  Complaints PlayStep(const YAML::Node& step);
  // The step's verb; empty: it is for elsewhere.
  std::string VerbOf(const YAML::Node& step) const;
  Complaints Repeat(const YAML::Node& step, const std::string& verb);
  Complaints RepeatUntil(const YAML::Node& step, const std::string& verb, absl::Duration limit);
  void Begin(const YAML::Node& step, const std::string& verb);
  Complaints Join(const YAML::Node& step);
  Outcome Do(const YAML::Node& step, const std::string& verb, const std::stop_token& stop);
  // What a job does; false: the verb is another.
  bool DoAsJob(const YAML::Node& step, const std::string& verb, const std::stop_token& stop,
               Outcome& outcome);
  bool DoWithPermit(const YAML::Node& what, const std::string& verb, Outcome& outcome);
  bool DoWithReports(Client& client, const YAML::Node& what, const std::string& verb,
                     const std::stop_token& stop, Outcome& outcome);
  // What happens to it.
  void Happen(const YAML::Node& what, const std::string& verb);
  void RunHeadgate(const YAML::Node& words);
  void Keep(const YAML::Node& step, const std::string& verb, int number, const Outcome& outcome);
  Complaints Judge(const YAML::Node& step, const Outcome& outcome);
  uint64_t NumberOf(const YAML::Node& what);

  World world_;
  Leases leases_;
  std::map<std::string, Outcome> outcomes_;
  std::map<std::string, std::unique_ptr<Background>> backgrounds_;  // last: they use the others
};

}  // namespace headgate::client
