// What each rule of the protocol is, one at a time; simulation_test.cc has all of them at once.

#include "server/share/cluster/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "server/share/cluster/takeover.h"
#include "tests/share/cluster/protocol_fixture.h"

namespace headgate::cluster {
namespace {

TEST_F(ProtocolTest, FirstServerOwnsWhatNobodyOwned) {
  Run(a_);
  EXPECT_TRUE(Owns(a_));
  EXPECT_EQ(OwnerOf(a_).generation, 1U);
}

TEST_F(ProtocolTest, OthersKnowTheOwnerAndItsAddress) {
  Run(a_);
  Run(b_);
  EXPECT_EQ(OwnerOf(b_).kind, OwnerRow::Kind::kOther);
  EXPECT_EQ(OwnerOf(b_).member, "a");
  EXPECT_EQ(OwnerOf(b_).address, "a:7000");
}

TEST_F(ProtocolTest, OwnerTrustsItsLeaseForHalfOfIt) {
  Run(a_);
  now_ns_ += kSecond * 149 / 100;
  EXPECT_TRUE(Owns(a_));
  now_ns_ += kSecond / 100;
  EXPECT_FALSE(Owns(a_));
}

TEST_F(ProtocolTest, OwnerThatComesBackUntakenGoesOn) {
  Run(a_);
  now_ns_ += 60 * kSecond;
  EXPECT_FALSE(Owns(a_));
  Run(a_);
  EXPECT_TRUE(Owns(a_));
  EXPECT_EQ(OwnerOf(a_).generation, 1U);
}

TEST_F(ProtocolTest, CrashedOwnersTargetIsTakenWhenItsLeaseHasEnded) {
  Run(a_);
  Run(b_);
  RunFor(2.9, {&b_});
  EXPECT_FALSE(Owns(b_));
  RunFor(0.3, {&b_});
  EXPECT_TRUE(Owns(b_));
  EXPECT_EQ(OwnerOf(b_).generation, 2U);
}

TEST_F(ProtocolTest, OwnerThatWasReplacedForgetsTheTarget) {
  Run(a_);
  Run(b_);
  RunFor(4, {&b_});
  Run(a_);
  EXPECT_EQ(OwnerOf(a_).kind, OwnerRow::Kind::kOther);
  EXPECT_TRUE(std::holds_alternative<Drop>(a_.others.at(0)));
}

TEST_F(ProtocolTest, LeavingServerSavesGivesAndTells) {
  Run(a_);
  RunFor(1, {&a_, &b_});
  a_.protocol.Leave();
  RunFor(1.5, {&a_, &b_});  // until the other has measured the target
  EXPECT_FALSE(Owns(a_));
  const Held held = std::get<Save>(a_.others.at(0)).held;
  EXPECT_FALSE(a_.protocol.HasLeft());
  a_.protocol.OnSaved(held, absl::OkStatus(), now_ns_);
  Run(a_);
  EXPECT_TRUE(a_.protocol.HasLeft());
  const Tell tell = std::get<Tell>(a_.others.back());
  EXPECT_EQ(tell.to.name, "b");
  b_.protocol.OnTold(tell.owner_incarnation, tell.held, now_ns_);
  Run(b_);
  EXPECT_TRUE(Owns(b_));
}

// The round that says so may be under way when the state has been written.
TEST_F(ProtocolTest, WhatBecomesUrgentDuringARoundIsDoneRightAfterIt) {
  const auto start = [&] {
    std::optional<RoundRequest> started;
    for (const Action& action : a_.protocol.Tick(now_ns_)) {
      if (const auto* round = std::get_if<StartRound>(&action)) started = round->request;
    }
    return started;
  };
  const auto answer = [&](const RoundRequest& request) {
    a_.protocol.OnRound(store_.Round(request, absl::FromUnixNanos(now_ns_)), now_ns_, now_ns_);
  };
  Run(a_);
  a_.protocol.Leave();
  const std::optional<RoundRequest> leaving = start();
  ASSERT_TRUE(leaving.has_value());
  a_.protocol.OnSaved({"t", 1}, absl::OkStatus(), now_ns_);
  answer(*leaving);
  const std::optional<RoundRequest> giving = start();
  ASSERT_TRUE(giving.has_value());
  EXPECT_EQ(giving->give.size(), 1U);
}

// Whoever neither gave nor took the target would else hear of it in its next round.
TEST_F(ProtocolTest, ANewOwnerTellsAllOthers) {
  Server c("c", 3);
  Run(a_);
  RunFor(1, {&a_, &b_, &c});
  b_.protocol.OnTold(2, {"t", 2}, now_ns_);
  store_.Round({.self = {.name = "a", .incarnation = 1, .address = "a:7000"},
                .number = 1000,
                .lease = absl::Seconds(3),
                .give = {{"t", 1, "b", 2}}},
               absl::FromUnixNanos(now_ns_));
  b_.others.clear();
  Run(b_);
  ASSERT_TRUE(Owns(b_));
  ASSERT_EQ(b_.others.size(), 2U);
  const Tell tell = std::get<Tell>(b_.others.back());
  EXPECT_EQ(tell.to.name, "c");
  EXPECT_EQ(OwnerOf(c).member, "a");
  c.protocol.OnTold(tell.owner_incarnation, tell.held, now_ns_);
  EXPECT_EQ(OwnerOf(c).member, "b");
  EXPECT_EQ(OwnerOf(c).generation, 2U);
}

TEST_F(ProtocolTest, WhatTheStoreSaysLaterIsBelievedRatherThanWhatWasTold) {
  Run(a_);
  RunFor(1, {&a_, &b_});
  Server c("c", 3);
  Run(c);
  c.protocol.OnTold(2, {"t", 2}, now_ns_);
  EXPECT_EQ(OwnerOf(c).member, "b");
  RunFor(1, {&a_, &b_, &c});
  EXPECT_EQ(OwnerOf(c).member, "a");
}

TEST_F(ProtocolTest, LeavingIsInVainWhenTheStoreHasBeenAwayForALease) {
  const auto fail_rounds = [&] {
    for (const Action& action : a_.protocol.Tick(now_ns_)) {
      if (!std::holds_alternative<StartRound>(action)) continue;
      a_.protocol.OnRound(absl::UnavailableError("away"), now_ns_, now_ns_);
    }
  };
  Run(a_);
  now_ns_ += kSecond;
  a_.protocol.Leave();
  EXPECT_FALSE(a_.protocol.LeavesInVain(now_ns_));  // the store has not failed yet
  fail_rounds();
  EXPECT_FALSE(a_.protocol.LeavesInVain(now_ns_));  // it may be back soon
  now_ns_ += 2 * kSecond;
  EXPECT_TRUE(a_.protocol.LeavesInVain(now_ns_));
  Run(a_);
  EXPECT_FALSE(a_.protocol.LeavesInVain(now_ns_));
}

TEST_F(ProtocolTest, LeavingIsInVainWhereTheStoreWasNeverThere) {
  a_.protocol.Leave();
  EXPECT_TRUE(a_.protocol.LeavesInVain(now_ns_));
}

TEST_F(ProtocolTest, WhatWasToldToAnEarlierProcessIsNotHeard) {
  Run(b_);
  b_.protocol.OnTold(77, {"t", 9}, now_ns_);
  for (const Action& action : b_.protocol.Tick(now_ns_)) {
    EXPECT_FALSE(std::holds_alternative<StartRound>(action));
  }
}

TEST_F(ProtocolTest, LastServerLeavesTheTargetFreeAndTheNextOneTakesAllOfIt) {
  Run(a_);
  a_.protocol.Leave();
  Run(a_);
  a_.protocol.OnSaved(std::get<Save>(a_.others.at(0)).held, absl::OkStatus(), now_ns_);
  Run(a_);
  ASSERT_TRUE(a_.protocol.HasLeft());
  Run(b_);
  EXPECT_TRUE(Owns(b_));
  EXPECT_EQ(OwnerOf(b_).generation, 2U);  // that after the one that wrote the final state
}

// Both stop at once, and the one has not heard of the other.
TEST_F(ProtocolTest, AServerThatLeavesIsGivenNothing) {
  Run(a_);
  RunFor(1, {&a_, &b_});
  a_.protocol.Leave();
  Run(a_);
  b_.protocol.Leave();
  Run(b_);
  ASSERT_TRUE(b_.protocol.HasLeft());
  WriteLast(a_);
  EXPECT_TRUE(a_.protocol.HasLeft());
  Server c("c", 3);
  Run(c);
  EXPECT_TRUE(Owns(c));
  EXPECT_EQ(TakeoverBy(c), Takeover::kHandedOver);
}

// Before it stopped, and it has not seen that either.
TEST_F(ProtocolTest, AServerThatLeavesGivesOnWhatItWasGivenJustBefore) {
  Run(a_);
  RunFor(1, {&a_, &b_});
  a_.protocol.Leave();
  Run(a_);
  WriteLast(a_);
  ASSERT_TRUE(a_.protocol.HasLeft());
  b_.protocol.Leave();
  Run(b_);
  EXPECT_FALSE(b_.protocol.HasLeft());
  WriteLast(b_);
  EXPECT_TRUE(b_.protocol.HasLeft());
  Server c("c", 3);
  Run(c);
  EXPECT_TRUE(Owns(c));
  EXPECT_EQ(TakeoverBy(c), Takeover::kHandedOver);
}

TEST_F(ProtocolTest, WhatWasGivenToWhoDiedBeforeItTookItUpIsHandedOver) {
  Run(a_);
  RunFor(1, {&a_, &b_});
  a_.protocol.Leave();
  Run(a_);
  WriteLast(a_);
  Server c("c", 3);
  RunFor(4, {&c});
  ASSERT_TRUE(Owns(c));
  EXPECT_EQ(OwnerOf(c).generation, 3U);
  EXPECT_EQ(TakeoverBy(c), Takeover::kHandedOver);
}

TEST_F(ProtocolTest, WhatSomebodyTookUpAndDiedIsNotHandedOverAnyMore) {
  Run(a_);
  RunFor(1, {&a_, &b_});
  a_.protocol.Leave();
  Run(a_);
  WriteLast(a_);
  RunFor(1, {&b_});
  EXPECT_EQ(TakeoverBy(b_), Takeover::kHandedOver);
  EXPECT_EQ(TakeoverBy(b_), Takeover::kHandedOver);  // it may read twice, as answers may be lost
  Server c("c", 3);
  RunFor(4, {&c});
  EXPECT_EQ(TakeoverBy(c), Takeover::kLearning);
}

TEST_F(ProtocolTest, WhoLeavesDoesNotAskAStoreThatIsAwayWithoutPause) {
  Run(a_);
  Run(b_);
  int rounds = 0;
  b_.protocol.Leave();
  for (int i = 0; i < 100; ++i) {
    for (const Action& action : b_.protocol.Tick(now_ns_)) {
      if (!std::holds_alternative<StartRound>(action)) continue;
      ++rounds;
      b_.protocol.OnRound(absl::UnavailableError("away"), now_ns_, now_ns_);
    }
  }
  EXPECT_EQ(rounds, 1);
}

TEST_F(ProtocolTest, ServerWhoseNameIsTakenOwnsNothingAndKnowsTheOwner) {
  Run(a_);
  Server second("a", 3);
  Run(second);
  EXPECT_TRUE(second.protocol.name_is_taken());
  EXPECT_FALSE(Owns(second));
  EXPECT_EQ(OwnerOf(second).address, "a:7000");
}

TEST_F(ProtocolTest, GrantThatMayBeAnEarlierOneIsNotTrusted) {
  const auto next_round = [&] {
    for (const Action& action : a_.protocol.Tick(now_ns_)) {
      if (const auto* round = std::get_if<StartRound>(&action)) return round->request;
    }
    return RoundRequest();
  };
  const auto answer = [&](const absl::StatusOr<RoundReply>& reply) {
    a_.protocol.OnRound(reply, now_ns_, now_ns_);
  };
  const auto store_does = [&](const RoundRequest& request) {
    return store_.Round(request, absl::FromUnixNanos(now_ns_));
  };
  answer(store_does(next_round()));
  now_ns_ += kSecond;
  const RoundRequest lost = next_round();
  ASSERT_EQ(lost.claim.size(), 1U);
  store_does(lost);
  answer(absl::DeadlineExceededError("the answer is lost"));
  now_ns_ += kSecond;
  const RoundRequest again = next_round();
  ASSERT_EQ(again.claim.size(), 1U);
  answer(store_does(again));
  EXPECT_EQ(a_.protocol.holdings().at("t").trusted_until_ns, 0);
}

TEST(Takeover, OnlyAFinalStateTellsAll) {
  const auto of = [](uint64_t held, uint64_t wrote, bool is_final) {
    StoredState state;
    state.generation = wrote;
    state.is_final = is_final;
    return TakeoverOf({"t", held}, state);
  };
  EXPECT_EQ(TakeoverOf({"t", 1}, std::nullopt), Takeover::kFresh);
  EXPECT_EQ(TakeoverOf({"t", 2}, std::nullopt), Takeover::kLearning);
  EXPECT_EQ(of(5, 4, true), Takeover::kHandedOver);
  EXPECT_EQ(of(5, 4, false), Takeover::kLearning);
  EXPECT_EQ(of(6, 4, true), Takeover::kHandedOver);  // who was given it meanwhile never read it
}

}  // namespace
}  // namespace headgate::cluster
