// How an owner decides on while the store is away, one rule at a time.

#include "server/share/cluster/store_outage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/share/cluster/protocol_fixture.h"

namespace headgate::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StoreOutageTest : public ProtocolTest {
 protected:
  static constexpr OnStoreLoss kKeep = OnStoreLoss::kKeep;

  // a owns the target, and all have seen each other, and said so to the store.
  StoreOutageTest() {
    Run(a2_);
    store_.SetPreferred("t", "a");
    RunFor(2, {&a2_, &b2_, &c_});
  }

  // Rounds fail. Who is asked answers at once, where it is among these.
  void RunWithoutStore(Server& server, const std::vector<Server*>& reached) {
    for (int step = 0; step < 10; ++step) {
      const std::vector<Action> actions = server.protocol.Tick(now_ns_);
      if (actions.empty()) return;
      for (const Action& action : actions) {
        if (std::holds_alternative<StartRound>(action)) {
          server.protocol.OnRound(absl::UnavailableError("away"), now_ns_, now_ns_);
        } else if (const auto* measure = std::get_if<Measure>(&action)) {
          Do(server, *measure);
        } else if (const auto* ask = std::get_if<AskToKeep>(&action)) {
          bool agrees = false;
          for (Server* other : reached) {
            if (other->protocol.options().name == ask->to.name) {
              agrees = Agree(*other, server, ask->held).ok();
            }
          }
          server.protocol.OnKeepAnswer(ask->to.name, ask->asking, agrees, now_ns_);
        }
      }
    }
    FAIL() << "there is always more to do";
  }
  void RunWithoutStoreFor(double seconds, const std::vector<Server*>& servers) {
    for (const int64_t end_ns = now_ns_ + static_cast<int64_t>(seconds * kSecond); now_ns_ < end_ns;
         now_ns_ += kSecond / 10) {
      for (Server* server : servers) RunWithoutStore(*server, servers);
    }
  }
  absl::Status Agree(Server& asked, const Server& asks, const std::vector<Held>& held) {
    return asked.protocol.Agree({.to = asked.protocol.options().name,
                                 .name = asks.protocol.options().name,
                                 .incarnation = asks.protocol.options().incarnation,
                                 .held = held},
                                now_ns_);
  }

  Server a2_{"a", 11, kKeep};
  Server b2_{"b", 12, kKeep};
  Server c_{"c", 13, kKeep};
};

TEST_F(StoreOutageTest, AnOwnerDecidesOnWhileAllAgree) {
  RunWithoutStoreFor(60, {&a2_, &b2_, &c_});
  EXPECT_TRUE(Owns(a2_));
  EXPECT_EQ(OwnerOf(a2_).generation, 1U);
  RunFor(10, {&a2_, &b2_, &c_});
  EXPECT_TRUE(Owns(a2_));
  EXPECT_EQ(OwnerOf(a2_).generation, 1U);
}

TEST_F(StoreOutageTest, WhoLostTheStoreKnowsHowManyServersThereWere) {
  EXPECT_EQ(b2_.protocol.ServersWithoutStore(), 0);
  RunWithoutStoreFor(60, {&a2_, &b2_, &c_});
  EXPECT_EQ(b2_.protocol.ServersWithoutStore(), 3);
  Server d("d", 14, kKeep);
  RunWithoutStoreFor(1, {&d});
  EXPECT_EQ(d.protocol.ServersWithoutStore(), 0);  // it has never reached it
  RunFor(1, {&b2_});
  EXPECT_EQ(b2_.protocol.ServersWithoutStore(), 0);
}

TEST_F(StoreOutageTest, OneThatDoesNotAnswerStopsIt) {
  RunWithoutStoreFor(5, {&a2_, &b2_, &c_});
  EXPECT_TRUE(Owns(a2_));
  RunWithoutStoreFor(1.6, {&a2_, &b2_});
  EXPECT_FALSE(Owns(a2_));
  EXPECT_THAT(a2_.protocol.outage().Missing(now_ns_), ElementsAre("c"));
  RunWithoutStoreFor(1, {&a2_, &b2_, &c_});
  EXPECT_TRUE(Owns(a2_));
  EXPECT_THAT(a2_.protocol.outage().Missing(now_ns_), IsEmpty());
}

TEST_F(StoreOutageTest, WhoHasTheStoreDoesNotAgreeAndTakesTheTarget) {
  for (int step = 0; step < 80; ++step) {
    RunWithoutStore(a2_, {&b2_, &c_});
    RunFor(0.1, {&b2_, &c_});
  }
  EXPECT_FALSE(Owns(a2_));
  EXPECT_TRUE(Owns(b2_) || Owns(c_));
}

TEST_F(StoreOutageTest, WhoAgreedTakesNothingForTwoLeases) {
  RunWithoutStoreFor(5, {&a2_, &b2_, &c_});
  // The store is back, but for the owner, which nobody reaches either.
  RunFor(5.5, {&b2_, &c_});
  EXPECT_FALSE(Owns(b2_) || Owns(c_));
  RunFor(1, {&b2_, &c_});
  EXPECT_TRUE(Owns(b2_) || Owns(c_));
}

TEST_F(StoreOutageTest, AServerThatTheOwnerHasNotSeenDoesNotReplaceIt) {
  Server d("d", 14, kKeep);
  RunFor(30, {&d});
  EXPECT_FALSE(Owns(d));
  RunFor(10, {&b2_, &d});
  EXPECT_TRUE(Owns(b2_) || Owns(d));  // one that it has seen does, and may give it on
}

TEST_F(StoreOutageTest, AProcessThatBeganJustNowMayHaveAgreedBefore) {
  RunFor(3, {&c_});  // b is gone for long enough
  Server b3("b", 15, kKeep);
  RunFor(5.5, {&b3});
  EXPECT_FALSE(Owns(b3));
  RunFor(1.5, {&b3});
  EXPECT_TRUE(Owns(b3));
}

TEST_F(StoreOutageTest, WhoKnowsNothingDoesNotAgree) {
  RunWithoutStoreFor(1, {&a2_, &b2_, &c_});
  Server b3("b", 15, kKeep);
  EXPECT_FALSE(Agree(b3, a2_, {{"t", 1}}).ok());
  EXPECT_TRUE(Agree(b2_, a2_, {{"t", 1}}).ok());
  EXPECT_FALSE(Agree(c_, b2_, {{"t", 1}}).ok());  // another owns it
  Server d("d", 14, kKeep);
  d.protocol.SetTargets({{"t", 1}});
  EXPECT_FALSE(b2_.protocol.Agree({.to = "c", .name = "a", .incarnation = 11}, now_ns_).ok());
  EXPECT_FALSE(b2_.protocol.Agree({.to = "b", .name = "a", .incarnation = 99}, now_ns_).ok());
}

TEST_F(StoreOutageTest, OneThatIsToStopDoesSo) {
  Server stops("s", 20);
  EXPECT_FALSE(stops.protocol.AsksToKeep());
  Run(stops);
  now_ns_ += 2 * kSecond;
  RunWithoutStore(stops, {});
  EXPECT_FALSE(stops.protocol.AsksToKeep());
}

}  // namespace
}  // namespace headgate::cluster
