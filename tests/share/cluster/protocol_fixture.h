// Servers that follow the protocol, and a store whose clock is right, at the pace of a test.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "server/share/cluster/protocol.h"
#include "server/share/cluster/takeover.h"
#include "tests/sim/cluster/model_store.h"

namespace headgate::cluster {

inline constexpr int64_t kSecond = 1'000'000'000;

class ProtocolTest : public testing::Test {
 protected:
  struct Server {
    Server(const std::string& name, uint64_t incarnation,
           OnStoreLoss on_store_loss = OnStoreLoss::kStop, bool tries_states = false)
        : protocol({.name = name,
                    .incarnation = incarnation,
                    .address = name + ":7000",
                    .on_store_loss = on_store_loss,
                    .tries_states = tries_states}) {
      protocol.SetTargets({{"t", 1}});
    }
    Protocol protocol;
    Measures measures = Measures::kAll;  // at once, when it is wanted
    absl::Status rounds = {};            // what the store does with them; OK: what it is asked
    absl::Status states = {};            // likewise
    bool is_measuring = false;
    int measured = 0;            // how often that began
    std::vector<Action> others;  // actions but rounds
  };

  void Do(Server& server, const Measure& measure) const {
    server.is_measuring = measure.wanted;
    if (!measure.wanted) return;
    ++server.measured;
    server.protocol.OnMeasured(measure.target, server.measures, "refused", now_ns_);
  }
  absl::StatusOr<RoundReply> Round(const Server& server, const RoundRequest& request) {
    if (!server.rounds.ok()) return server.rounds;
    return store_.Round(request, absl::FromUnixNanos(now_ns_));
  }
  absl::Status Read(const Server& server, const Held& held) {
    if (!server.states.ok()) return server.states;
    return store_.ReadState(held, absl::FromUnixNanos(now_ns_)).status();
  }
  // Everything that a server wants done now; rounds at once, by a store whose clock is right.
  void Run(Server& server) {
    for (int step = 0; step < 10; ++step) {
      const std::vector<Action> actions = server.protocol.Tick(now_ns_);
      if (actions.empty()) return;
      for (const Action& action : actions) {
        if (const auto* round = std::get_if<StartRound>(&action)) {
          server.protocol.OnRound(Round(server, round->request), now_ns_, now_ns_);
        } else if (const auto* measure = std::get_if<Measure>(&action)) {
          Do(server, *measure);
        } else if (const auto* take = std::get_if<Take>(&action)) {
          server.protocol.OnTaken(take->held, Read(server, take->held), now_ns_);
        } else {
          server.others.push_back(action);
        }
      }
    }
    FAIL() << "there is always more to do";
  }
  void RunFor(double seconds, const std::vector<Server*>& servers) {
    for (const int64_t end_ns = now_ns_ + static_cast<int64_t>(seconds * kSecond); now_ns_ < end_ns;
         now_ns_ += kSecond / 10) {
      for (Server* server : servers) Run(*server);
    }
  }
  // It writes its last state, and goes on.
  void WriteLast(Server& server) {
    for (const Action& action : std::exchange(server.others, {})) {
      const auto* const save = std::get_if<Save>(&action);
      const auto* const pass = std::get_if<PassOn>(&action);
      if (save == nullptr && pass == nullptr) continue;
      const Held held = save != nullptr ? save->held : pass->held;
      bool is_final = true;
      if (pass != nullptr) {
        const auto read = store_.ReadState(held, absl::FromUnixNanos(now_ns_));
        is_final = read.ok() && TakeoverOf(held, *read) != Takeover::kLearning;
      }
      const absl::Status written = store_.WriteState({.target = held.target,
                                                      .generation = held.generation,
                                                      .sequence = 1,
                                                      .age = absl::ZeroDuration(),
                                                      .is_final = is_final,
                                                      .bytes = "debt"},
                                                     absl::FromUnixNanos(now_ns_));
      EXPECT_TRUE(written.ok()) << written;
      server.protocol.OnSaved(held, written, now_ns_);
    }
    Run(server);
  }
  // How much its owner knows, once it has read what there is.
  Takeover TakeoverBy(const Server& server) {
    const auto holding = server.protocol.holdings().find("t");
    if (holding == server.protocol.holdings().end()) {
      ADD_FAILURE() << "it has nothing";
      return Takeover::kFresh;
    }
    const Held held{"t", holding->second.generation};
    const auto state = store_.ReadState(held, absl::FromUnixNanos(now_ns_));
    EXPECT_TRUE(state.ok()) << state.status();
    return TakeoverOf(held, state.ok() ? *state : std::nullopt);
  }
  OwnerRow OwnerOf(const Server& server) { return server.protocol.Owners(now_ns_).at("t"); }
  bool Owns(const Server& server) { return OwnerOf(server).kind == OwnerRow::Kind::kSelf; }
  int64_t now_ns_ = 1000 * kSecond;
  ModelStore store_;
  Server a_{"a", 1};
  Server b_{"b", 2};
};

}  // namespace headgate::cluster
