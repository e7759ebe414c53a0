// Headgated: the server under demonstration, a process of its own with a configuration that holds
// no number for the backfill's rate.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<Headgated>> headgated = Headgated::Start(stage, interrupt);
//   ... client::Client::Create({.address = (*headgated)->address(), ...}) ...
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/demo/interrupt.h"
#include "tests/demo/stage.h"
#include "tests/testing/headgated_process.h"

namespace headgate::demo {

// What an agent told of the one target, as its status service has it.
struct AgentView {
  bool yields = false;
  std::string means = {};  // or why nothing yields
  int64_t sessions = 0;    // that yield now, or were raised
};

// What its status service says of the one target, its profile and its budget.
struct ServerView {
  std::string health = {};  // "healthy", "warming", ...
  std::string signal = {};  // the binding one; empty for none
  double speed = 1;
  std::string phase = {};  // of the controller
  double rate = 0;  // that it found, busy seconds a second; or sessions at once, if they yield
  std::string error = {};               // of a server that could not be measured
  std::optional<AgentView> agent = {};  // absent: none tells of the target
};

class Headgated {
 public:
  static constexpr char kTarget[] = "shop";

  // Returns once it has measured the database's health.
  static absl::StatusOr<std::unique_ptr<Headgated>> Start(Stage& stage, const Interrupt& interrupt);
  ~Headgated();

  const std::string& address() const { return process_.address(); }

  // Asks its status service. DeadlineExceeded if it takes too long, which it may on a database that
  // takes all of the machine; another error if it has ended or fails.
  absl::StatusOr<ServerView> View();

 private:
  class Connection;

  explicit Headgated(Stage& stage);

  absl::Status WaitForHealth(const Interrupt& interrupt);

  HeadgatedProcess process_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace headgate::demo
