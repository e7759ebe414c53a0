// Servers that follow the protocol, and a store whose clock is right, at the pace of a test.

#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "server/cluster/protocol.h"
#include "tests/sim/cluster/model_store.h"

namespace headgate::cluster {

inline constexpr int64_t kSecond = 1'000'000'000;

class ProtocolTest : public testing::Test {
 protected:
  struct Server {
    Server(const std::string& name, uint64_t incarnation,
           OnStoreLoss on_store_loss = OnStoreLoss::kStop)
        : protocol({.name = name,
                    .incarnation = incarnation,
                    .address = name + ":7000",
                    .on_store_loss = on_store_loss}) {
      protocol.SetTargets({"t"});
    }
    Protocol protocol;
    std::vector<Action> others;  // actions but rounds
  };

  // Everything that a server wants done now; rounds at once, by a store whose clock is right.
  void Run(Server& server) {
    for (int step = 0; step < 10; ++step) {
      const std::vector<Action> actions = server.protocol.Tick(now_ns_);
      if (actions.empty()) return;
      for (const Action& action : actions) {
        if (const auto* round = std::get_if<StartRound>(&action)) {
          server.protocol.OnRound(store_.Round(round->request, absl::FromUnixNanos(now_ns_)),
                                  now_ns_, now_ns_);
        } else if (const auto* take = std::get_if<Take>(&action)) {
          server.protocol.OnTaken(take->held, absl::OkStatus(), now_ns_);
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
  OwnerRow OwnerOf(const Server& server) { return server.protocol.Owners(now_ns_).at("t"); }
  bool Owns(const Server& server) { return OwnerOf(server).kind == OwnerRow::Kind::kSelf; }
  int64_t now_ns_ = 1000 * kSecond;
  ModelStore store_;
  Server a_{"a", 1};
  Server b_{"b", 2};
};

}  // namespace headgate::cluster
