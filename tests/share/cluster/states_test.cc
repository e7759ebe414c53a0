// Servers that cannot read or write what owners know, while their rounds go well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/share/cluster/placement.h"
#include "server/share/cluster/state_keeping.h"
#include "server/share/cluster/takeover.h"
#include "tests/share/cluster/protocol_fixture.h"

namespace headgate::cluster {
namespace {

const absl::Status kDenied = absl::PermissionDeniedError("permission denied for table state");

TEST(StateKeeping, TakesALeaseOfFailuresAndALeaseOfSuccesses) {
  StateKeeping keeping(absl::Seconds(3), true);
  const absl::Status ok;
  EXPECT_FALSE(keeping.keeps());
  EXPECT_TRUE(keeping.OnTried(ok, true, 0));
  EXPECT_TRUE(keeping.keeps());
  EXPECT_FALSE(keeping.OnTried(kDenied, true, kSecond));
  EXPECT_FALSE(keeping.OnTried(ok, true, 2 * kSecond));
  EXPECT_FALSE(keeping.OnTried(kDenied, true, 3 * kSecond));
  EXPECT_FALSE(keeping.OnTried(kDenied, true, 5 * kSecond));
  EXPECT_TRUE(keeping.OnTried(kDenied, true, 6 * kSecond));
  EXPECT_EQ(keeping.status(), kDenied);
  EXPECT_FALSE(keeping.OnTried(ok, true, 7 * kSecond));
  EXPECT_FALSE(keeping.OnTried(kDenied, true, 8 * kSecond));
  EXPECT_FALSE(keeping.OnTried(ok, true, 9 * kSecond));
  EXPECT_FALSE(keeping.OnTried(ok, true, 11 * kSecond));
  EXPECT_TRUE(keeping.OnTried(ok, true, 12 * kSecond));
  EXPECT_TRUE(keeping.keeps());
}

TEST(StateKeeping, OneThatHasNeverWorkedFailsAtOnceAndWorksAtOnce) {
  StateKeeping keeping(absl::Seconds(3), true);
  EXPECT_TRUE(keeping.OnTried(kDenied, true, 0));
  EXPECT_FALSE(keeping.keeps());
  EXPECT_TRUE(keeping.OnTried(absl::UnavailableError("away"), true, kSecond));
  EXPECT_EQ(keeping.status().message(), "away");
  EXPECT_TRUE(keeping.OnTried(absl::OkStatus(), true, 2 * kSecond));
}

// Whatever fails then says nothing of states alone.
TEST(StateKeeping, LearnsNothingWhileRoundsFail) {
  StateKeeping keeping(absl::Seconds(3), true);
  EXPECT_FALSE(keeping.OnTried(kDenied, false, 0));
  EXPECT_TRUE(keeping.status().ok());
  EXPECT_TRUE(keeping.OnTried(absl::OkStatus(), true, kSecond));
  EXPECT_FALSE(keeping.OnTried(kDenied, true, 2 * kSecond));
  EXPECT_FALSE(keeping.OnTried(kDenied, false, 3 * kSecond));
  EXPECT_FALSE(keeping.OnTried(kDenied, true, 5 * kSecond));
  EXPECT_FALSE(keeping.OnTried(kDenied, true, 7 * kSecond));
  EXPECT_TRUE(keeping.OnTried(kDenied, true, 8 * kSecond));
}

class StatesTest : public ProtocolTest {
 protected:
  // As members do: what is to be written is, and each server tries whether it can each second.
  void RunAll(double seconds, const std::vector<Server*>& servers) {
    for (const int64_t end_ns = now_ns_ + static_cast<int64_t>(seconds * kSecond); now_ns_ < end_ns;
         now_ns_ += kSecond / 10) {
      for (Server* const server : servers) {
        if (now_ns_ % kSecond == 0) server->protocol.OnStatesTried(server->states, now_ns_);
        Run(*server);
        for (const Action& action : std::exchange(server->others, {})) {
          if (const auto* save = std::get_if<Save>(&action)) Write(*server, save->held);
        }
      }
    }
  }
  void RunBoth(double seconds) { RunAll(seconds, {&a_, &b_}); }
  void Write(Server& server, const Held& held) {
    absl::Status written = server.states;
    if (written.ok()) {
      written = store_.WriteState({.target = held.target,
                                   .generation = held.generation,
                                   .sequence = 1,
                                   .age = absl::ZeroDuration(),
                                   .is_final = true,
                                   .bytes = "debt"},
                                  absl::FromUnixNanos(now_ns_));
    }
    server.protocol.OnSaved(held, written, now_ns_);
  }
  // Whom placement names, of these two, and the other one.
  Server& Placed() { return PlaceOf("t", "", std::vector<std::string>{"a", "b"}) == "a" ? a_ : b_; }
  Server& Other() { return &Placed() == &a_ ? b_ : a_; }
  static const std::string& NameOf(const Server& server) { return server.protocol.options().name; }
  uint64_t Generation() { return OwnerOf(a_).generation; }

  Server a_{"a", 1, OnStoreLoss::kStop, true};
  Server b_{"b", 2, OnStoreLoss::kStop, true};
};

TEST_F(StatesTest, AnOwnerThatCannotKeepThemForALeaseGivesToWhoCan) {
  RunBoth(10);
  ASSERT_TRUE(Owns(Placed()));
  Placed().states = kDenied;
  RunBoth(5.5);
  EXPECT_FALSE(Placed().protocol.states().keeps());
  EXPECT_TRUE(Owns(Placed()));  // the others may be about to fail, too
  RunBoth(3);
  EXPECT_TRUE(Owns(Other()));
  EXPECT_EQ(Placed().protocol.states().status(), kDenied);
  EXPECT_EQ(Placed().protocol.seen().own_offers()->at("t").why, kDenied.message());
  // It could not write its last one.
  EXPECT_EQ(TakeoverBy(Other()), Takeover::kLearning);
}

TEST_F(StatesTest, AMomentMovesNothing) {
  RunBoth(10);
  const uint64_t generation = Generation();
  Placed().states = kDenied;
  RunBoth(2.5);
  Placed().states = absl::OkStatus();
  RunBoth(10);
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(Generation(), generation);
}

TEST_F(StatesTest, WhoCanAgainForALeaseIsGivenItsTargetsBack) {
  RunBoth(10);
  Placed().states = kDenied;
  RunBoth(10);
  ASSERT_TRUE(Owns(Other()));
  Placed().states = absl::OkStatus();
  RunBoth(2);
  EXPECT_TRUE(Owns(Other()));
  RunBoth(10);
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(TakeoverBy(Placed()), Takeover::kHandedOver);
}

// They know what they admitted: nobody would do better.
TEST_F(StatesTest, WhereNobodyCanOwnersGoOn) {
  RunBoth(10);
  const uint64_t generation = Generation();
  a_.states = b_.states = kDenied;
  RunBoth(120);
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(Generation(), generation);
  a_.states = b_.states = absl::OkStatus();
  RunBoth(10);
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(Generation(), generation);
}

TEST_F(StatesTest, WhereNobodyCanNobodyTakesWhatIsFreeUntilSomebodyCan) {
  a_.states = b_.states = kDenied;
  RunBoth(30);
  EXPECT_EQ(OwnerOf(a_).kind, OwnerRow::Kind::kNobody);
  b_.states = absl::OkStatus();
  RunBoth(15);
  EXPECT_TRUE(Owns(b_));
}

TEST_F(StatesTest, WhoHasNeverBeenAbleToIsGivenNothing) {
  RunBoth(10);
  const uint64_t generation = Generation();
  Server c("c", 3, OnStoreLoss::kStop, true);
  c.states = kDenied;
  store_.SetPreferred("t", "c");
  RunAll(60, {&a_, &b_, &c});
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(Generation(), generation);
  EXPECT_FALSE(c.is_measuring);
}

// It decided nothing meanwhile.
TEST_F(StatesTest, WhatSomebodyWasGivenAndCannotReadIsAsFinalAsItWas) {
  RunBoth(10);
  ASSERT_TRUE(Owns(Placed()));
  const uint64_t generation = Generation();
  store_.SetDrained(NameOf(Placed()), true);
  Other().states = kDenied;
  RunBoth(2.5);
  EXPECT_EQ(OwnerOf(Other()).kind, OwnerRow::Kind::kNobody);
  EXPECT_EQ(Generation(), generation + 1);
  RunBoth(5);
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(Generation(), generation + 2);
  EXPECT_EQ(TakeoverBy(Placed()), Takeover::kHandedOver);
}

TEST_F(StatesTest, AStoreThatIsAwayIsNoFaultOfTheirs) {
  RunBoth(10);
  const uint64_t generation = Generation();
  for (Server* const server : {&a_, &b_}) server->rounds = server->states = kDenied;
  RunBoth(60);
  EXPECT_TRUE(a_.protocol.states().keeps());
  for (Server* const server : {&a_, &b_}) server->rounds = absl::OkStatus();
  RunBoth(2.5);
  EXPECT_TRUE(Owns(Placed()));
  for (Server* const server : {&a_, &b_}) server->states = absl::OkStatus();
  RunBoth(10);
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(Generation(), generation);
}

TEST_F(StatesTest, AnOwnerThatSeesTheDatabaseGivesToNobodyWhoDoesNot) {
  Other().measures = Measures::kNothing;
  RunBoth(10);
  ASSERT_TRUE(Owns(Placed()));
  const uint64_t generation = Generation();
  Placed().states = kDenied;
  RunBoth(30);
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(Generation(), generation);
  Other().protocol.OnMeasured("t", Measures::kAll, "", now_ns_);
  RunBoth(5);
  EXPECT_TRUE(Owns(Other()));
}

TEST_F(StatesTest, AServerThatLeavesWithoutThemGoesAllTheSame) {
  RunBoth(10);
  ASSERT_TRUE(Owns(Placed()));
  Placed().states = kDenied;
  RunBoth(1);
  Placed().protocol.Leave();
  RunBoth(10);
  EXPECT_TRUE(Placed().protocol.HasLeft());
  EXPECT_TRUE(Owns(Other()));
}

// Nobody has another copy of what it knows.
TEST_F(StatesTest, WhatIsOnItsWayWhenNobodyCanAnyMoreIsHandedOverOnceTheyCan) {
  RunBoth(10);
  ASSERT_TRUE(Owns(Placed()));
  a_.states = b_.states = kDenied;
  store_.SetDrained(NameOf(Placed()), true);
  RunBoth(60);
  EXPECT_EQ(OwnerOf(Placed()).kind, OwnerRow::Kind::kNobody);
  a_.states = b_.states = absl::OkStatus();
  RunBoth(10);
  EXPECT_TRUE(Owns(Other()));
  EXPECT_EQ(TakeoverBy(Other()), Takeover::kHandedOver);
}

}  // namespace
}  // namespace headgate::cluster
