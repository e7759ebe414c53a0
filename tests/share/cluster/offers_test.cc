// Who may have a target: who has it in its configuration, and measures it.

#include "server/share/cluster/offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/share/cluster/placement.h"
#include "server/share/cluster/takeover.h"
#include "server/share/cluster/view.h"
#include "tests/share/cluster/protocol_fixture.h"

namespace headgate::cluster {
namespace {

using ::testing::HasSubstr;

TEST(Offers, AreReadAsTheyWereWritten) {
  const Offer offer{.configuration = 0xfeedface12345678,
                    .measures = Measures::kPartly,
                    .keeps_state = false,
                    .why = "no permission"};
  const auto read = DecodeOffer(EncodeOffer("orders of 'all' {kinds}", offer));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->first, "orders of 'all' {kinds}");
  EXPECT_EQ(read->second, offer);
}

// A round that a store refuses for it would cost all leases.
TEST(Offers, AReasonInWhateverEncodingIsOneLineOfAscii) {
  const auto read = DecodeOffer(EncodeOffer("t", {.why = std::string("caf\xe9\n\0x", 7)}));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->second.why, "caf? ?x");
  const auto long_one = DecodeOffer(EncodeOffer("t", {.why = std::string(1000, 'x')}));
  ASSERT_TRUE(long_one.has_value());
  EXPECT_EQ(long_one->second.why.size(), 200U);
}

TEST(Offers, WhatMakesNoSenseIsLeftOut) {
  for (const char* text :
       {"", "0123456789abcdef 3s", "0123456789abcdef 9s t", "0123456789abcdeg 3s t",
        "0123456789abcdef-3s t", "0123456789abcdef 3s\nt"}) {
    EXPECT_FALSE(DecodeOffer(text).has_value()) << text;
  }
}

class OffersTest : public ProtocolTest {
 protected:
  // As members do: states are written and read at once, and what is told is heard.
  void RunAll(double seconds, const std::vector<Server*>& servers) {
    for (const int64_t end_ns = now_ns_ + static_cast<int64_t>(seconds * kSecond); now_ns_ < end_ns;
         now_ns_ += kSecond / 10) {
      for (Server* server : servers) {
        Run(*server);
        for (const Action& action : std::exchange(server->others, {})) DoState(*server, action);
      }
    }
  }
  void DoState(Server& server, const Action& action) {
    if (const auto* save = std::get_if<Save>(&action)) {
      server.protocol.OnSaved(save->held, Write(save->held, true, "of its owner"), now_ns_);
    } else if (const auto* pass = std::get_if<PassOn>(&action)) {
      ++passed_on_;
      const auto state = store_.ReadState(pass->held, absl::FromUnixNanos(now_ns_));
      ASSERT_TRUE(state.ok() && state->has_value());
      const bool is_final = TakeoverOf(pass->held, *state) == Takeover::kHandedOver;
      server.protocol.OnSaved(pass->held, Write(pass->held, is_final, (*state)->whole), now_ns_);
    }
  }
  absl::Status Write(const Held& held, bool is_final, std::string_view bytes) {
    return store_.WriteState({.target = held.target,
                              .generation = held.generation,
                              .sequence = 1,
                              .age = absl::ZeroDuration(),
                              .is_final = is_final,
                              .bytes = bytes},
                             absl::FromUnixNanos(now_ns_));
  }
  // Whom placement names, of these two, and the other one.
  Server& Placed() { return PlaceOf("t", "", std::vector<std::string>{"a", "b"}) == "a" ? a_ : b_; }
  Server& Other() { return &Placed() == &a_ ? b_ : a_; }
  static const std::string& NameOf(const Server& server) { return server.protocol.options().name; }

  int passed_on_ = 0;
};

TEST_F(OffersTest, ATargetIsClaimedByWhoHasItThoughPlacementNamesAnother) {
  Placed().protocol.SetTargets({});
  RunAll(5, {&Placed(), &Other()});
  EXPECT_TRUE(Owns(Other()));
}

TEST_F(OffersTest, ATargetIsNotGivenToWhoLacksIt) {
  RunAll(1, {&Other()});
  Placed().protocol.SetTargets({{"another", 1}});
  RunAll(10, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
  EXPECT_EQ(OwnerOf(Other()).generation, 1U);
  store_.SetDrained(NameOf(Other()), true);
  RunAll(10, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
  EXPECT_EQ(OwnerOf(Other()).generation, 1U);
}

// Any server takes any call: it knows whom to hand it to.
TEST_F(OffersTest, WhoLacksATargetKnowsItsOwner) {
  b_.protocol.SetTargets({});
  RunAll(2, {&a_, &b_});
  ASSERT_TRUE(Owns(a_));
  EXPECT_EQ(OwnerOf(b_).member, "a");
  EXPECT_TRUE(OwnerOf(b_).is_offered);
}

TEST_F(OffersTest, WhereNobodyHasATargetItIsNobodysAndKnown) {
  b_.protocol.SetTargets({});
  RunAll(2, {&a_, &b_});
  RunAll(20, {&b_});
  EXPECT_EQ(OwnerOf(b_).kind, OwnerRow::Kind::kNobody);
  EXPECT_EQ(OwnerOf(b_).generation, 1U);
  EXPECT_FALSE(OwnerOf(b_).is_offered);
}

TEST_F(OffersTest, AReloadThatLosesATargetGivesItToWhoHasIt) {
  RunAll(5, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  Placed().protocol.SetTargets({});
  RunAll(3, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
  EXPECT_EQ(OwnerOf(Placed()).member, NameOf(Other()));
}

// As a server of an earlier release does.
TEST_F(OffersTest, WhatWasGivenToWhoLacksItIsPassedOnAsItWas) {
  b_.protocol.SetTargets({});
  RunAll(2, {&a_, &b_});
  ASSERT_TRUE(Owns(a_));
  ASSERT_TRUE(Write({"t", 1}, true, "debts").ok());
  store_.SetDrained("a", true);
  store_.Round({.self = {.name = "a", .incarnation = 1, .address = "a:7000"},
                .number = 1000,
                .lease = absl::Seconds(3),
                .give = {{"t", 1, "b", 2}}},
               absl::FromUnixNanos(now_ns_));
  Server c("c", 3);
  RunAll(0.2, {&c});
  RunAll(3, {&b_, &c});
  EXPECT_EQ(passed_on_, 1);
  ASSERT_TRUE(Owns(c));
  EXPECT_EQ(OwnerOf(c).generation, 3U);
  const Held held{"t", 3};
  const auto state = store_.ReadState(held, absl::FromUnixNanos(now_ns_));
  ASSERT_TRUE(state.ok() && state->has_value());
  EXPECT_EQ((*state)->whole, "debts");
  EXPECT_EQ(TakeoverOf(held, *state), Takeover::kHandedOver);
}

TEST_F(OffersTest, OnlyTheOwnerMeasuresWhileNothingMoves) {
  RunAll(10, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  EXPECT_TRUE(Placed().is_measuring);
  EXPECT_FALSE(Other().is_measuring);
}

TEST_F(OffersTest, AServerThatIsDrainedGivesToWhoMeasures) {
  RunAll(10, {&a_, &b_});
  store_.SetDrained(NameOf(Placed()), true);
  RunAll(3, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
  EXPECT_TRUE(Other().is_measuring);
  EXPECT_FALSE(Placed().is_measuring);
}

TEST_F(OffersTest, AServerThatIsDrainedKeepsWhatNobodyElseMeasures) {
  Other().measures = Measures::kNothing;
  RunAll(10, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  const uint64_t generation = OwnerOf(Placed()).generation;
  store_.SetDrained(NameOf(Placed()), true);
  RunAll(15, {&a_, &b_});
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(OwnerOf(Placed()).generation, generation);
  Other().measures = Measures::kAll;
  RunAll(30, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
}

// Each attempt is a line in its log.
TEST_F(OffersTest, WhoCannotMeasureTriesEverMoreRarely) {
  Placed().measures = Measures::kNothing;
  RunAll(600, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
  EXPECT_GE(Placed().measured, 5);
  EXPECT_LE(Placed().measured, 8);
  Placed().measures = Measures::kAll;
  RunAll(330, {&a_, &b_});
  EXPECT_TRUE(Owns(Placed()));
}

// It is nobody's fault then, and moving it takes nothing away.
TEST_F(OffersTest, WhereNobodyMeasuresADrainedServerGivesAllTheSame) {
  a_.measures = b_.measures = Measures::kNothing;
  RunAll(10, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  store_.SetDrained(NameOf(Placed()), true);
  RunAll(15, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
}

TEST_F(OffersTest, WhoSeesAPartGivesToWhoSeesAsMuch) {
  a_.measures = b_.measures = Measures::kPartly;
  RunAll(10, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  store_.SetDrained(NameOf(Placed()), true);
  RunAll(15, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
}

TEST_F(OffersTest, AnOwnerThatLostItsDatabaseForAWhileGivesToWhoReachesIt) {
  RunAll(10, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  Placed().measures = Measures::kNothing;
  Placed().protocol.OnMeasured("t", Measures::kNothing, "refused", now_ns_);
  RunAll(5, {&a_, &b_});
  EXPECT_TRUE(Owns(Placed()));  // it may be back
  RunAll(5, {&a_, &b_});
  EXPECT_TRUE(Owns(Other()));
  Placed().measures = Measures::kAll;
  RunAll(15, {&a_, &b_});
  EXPECT_TRUE(Owns(Placed()));
}

TEST_F(OffersTest, AnOwnerThatLostItsDatabaseForAMomentKeepsTheTarget) {
  RunAll(10, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  const uint64_t generation = OwnerOf(Placed()).generation;
  Placed().protocol.OnMeasured("t", Measures::kNothing, "refused", now_ns_);
  RunAll(5, {&a_, &b_});
  Placed().protocol.OnMeasured("t", Measures::kAll, "", now_ns_);
  RunAll(10, {&a_, &b_});
  EXPECT_TRUE(Owns(Placed()));
  EXPECT_EQ(OwnerOf(Placed()).generation, generation);
}

TEST_F(OffersTest, WhoLeavesWaitsForTheNextOwnerToMeasureForALeaseAtMost) {
  RunAll(10, {&a_, &b_});
  ASSERT_TRUE(Owns(Placed()));
  const uint64_t generation = OwnerOf(Placed()).generation;
  Server& next = Other();
  next.measures = Measures::kUntried;  // as if it took very long
  Placed().protocol.Leave();
  RunAll(2.5, {&a_, &b_});
  EXPECT_TRUE(Owns(Placed()));
  RunAll(3, {&a_, &b_});
  EXPECT_TRUE(Placed().protocol.HasLeft());
  EXPECT_EQ(OwnerOf(next).generation, generation + 1);
}

TEST_F(OffersTest, ATakeoverWaitsForMeasuringForHalfALeaseAtMost) {
  a_.measures = Measures::kUntried;
  Run(a_);
  now_ns_ += kSecond;
  Run(a_);
  EXPECT_FALSE(Owns(a_));
  now_ns_ += kSecond * 6 / 10;
  Run(a_);
  Run(a_);
  EXPECT_TRUE(Owns(a_));
}

TEST_F(OffersTest, AServerThatSaysNothingIsTakenToHaveAll) {
  RunAll(10, {&a_, &b_});
  const auto round = [&](uint64_t number) {
    store_.Round({.self = {.name = "c", .incarnation = 9, .address = "c:7000"},
                  .number = number,
                  .lease = absl::Seconds(3)},
                 absl::FromUnixNanos(now_ns_));
  };
  store_.SetPreferred("t", "c");
  for (uint64_t number = 1; number < 12; ++number) {
    round(number);
    RunAll(0.3, {&a_, &b_});
  }
  EXPECT_EQ(OwnerOf(a_).member, "c");
}

// It gives the target to whoever placement names among all.
TEST_F(OffersTest, WhileSomebodyLacksATargetWhoSaysNothingIsGivenItLast) {
  Server c("c", 3);
  c.protocol.SetTargets({});
  RunAll(1, {&a_, &b_, &c});
  store_.SetPreferred("t", "d");
  for (uint64_t number = 1; number < 20; ++number) {
    store_.Round({.self = {.name = "d", .incarnation = 9, .address = "d:7000"},
                  .number = number,
                  .lease = absl::Seconds(3)},
                 absl::FromUnixNanos(now_ns_));
    RunAll(0.3, {&a_, &b_, &c});
  }
  EXPECT_TRUE(Owns(a_) || Owns(b_));
}

TEST_F(OffersTest, TheViewCountsConfigurations) {
  b_.protocol.SetTargets({{"t", 2}});
  Server c("c", 3);
  c.protocol.SetTargets({});
  RunAll(2, {&a_, &b_, &c});
  const ClusterView view = ViewOf(c.protocol, now_ns_);
  ASSERT_EQ(view.targets.size(), 1U);
  EXPECT_EQ(view.targets[0].configurations, 2);
  EXPECT_EQ(view.targets[0].servers, 2);
  EXPECT_TRUE(MayHave(view, "t", "a").ok());
  EXPECT_THAT(MayHave(view, "t", "c").message(), HasSubstr("server c has no target t"));
  EXPECT_TRUE(absl::IsNotFound(MayHave(view, "t", "d")));
  b_.protocol.OnStatesTried(absl::PermissionDeniedError("permission denied"), now_ns_);
  EXPECT_THAT(MayHave(ViewOf(b_.protocol, now_ns_), "t", "b").message(),
              HasSubstr("cannot keep the state of target t: permission denied"));
}

}  // namespace
}  // namespace headgate::cluster
