// States that go to the store and come from there.

#include "server/share/membership/state_mover.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "tests/share/membership/fake_states.h"

namespace headgate::membership {
namespace {

using cluster::Takeover;
using testing::ElementsAre;

class StateMoverTest : public testing::Test {
 protected:
  absl::Status TakeOne(uint64_t generation) {
    return mover_.Take({{"orders", generation}}).front();
  }

  FakeStore store_;
  FakeStates states_;
  cluster::Decisions decisions_;
  FakeClock clock_;
  StateMover mover_{{.store = store_,
                     .states = states_,
                     .decisions = decisions_,
                     .clock = clock_,
                     .timeout = absl::Seconds(1)}};
};

TEST_F(StateMoverTest, TheFirstOwnerBeginsAfresh) {
  EXPECT_TRUE(TakeOne(1).ok());
  EXPECT_EQ(states_.adopted["orders"], Takeover::kFresh);
}

TEST_F(StateMoverTest, WhatIsSavedAsTheLastIsHandedOver) {
  states_.known["orders"] = "debt";
  EXPECT_TRUE(mover_.Save({{"orders", 1}}).front().ok());
  EXPECT_FALSE(states_.known.contains("orders"));
  EXPECT_TRUE(store_.stored["orders"].is_final);
  EXPECT_TRUE(TakeOne(2).ok());
  EXPECT_EQ(states_.adopted["orders"], Takeover::kHandedOver);
  EXPECT_EQ(states_.known["orders"], "debt");
}

TEST_F(StateMoverTest, ACopyIsNotTheLast) {
  states_.known["orders"] = "debt";
  mover_.Copy({{"orders", 1}});
  EXPECT_FALSE(store_.stored["orders"].is_final);
  EXPECT_TRUE(TakeOne(2).ok());
  EXPECT_EQ(states_.adopted["orders"], Takeover::kLearning);
  EXPECT_EQ(states_.known["orders"], "debt");
}

// It is in no engine any more.
TEST_F(StateMoverTest, ALastStateThatCouldNotBeWrittenIsKept) {
  states_.known["orders"] = "debt";
  store_.status = absl::UnavailableError("away");
  EXPECT_TRUE(absl::IsUnavailable(mover_.Save({{"orders", 1}}).front()));
  clock_.Advance(absl::Seconds(2));
  store_.status = absl::OkStatus();
  EXPECT_TRUE(mover_.Save({{"orders", 1}}).front().ok());
  EXPECT_EQ(store_.stored["orders"].whole, "debt");
  EXPECT_EQ(store_.stored["orders"].age, absl::Seconds(2));
}

TEST_F(StateMoverTest, AllThatGoAreSavedByOneStatement) {
  states_.known = {{"orders", "debt"}, {"billing", "more"}};
  for (const absl::Status& status : mover_.Save({{"billing", 1}, {"orders", 1}})) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(store_.statements, 1);
  EXPECT_EQ(store_.stored["orders"].whole, "debt");
  EXPECT_TRUE(store_.stored["billing"].is_final);
  EXPECT_TRUE(states_.known.empty());
}

TEST_F(StateMoverTest, AllTargetsAreCopiedByOneStatement) {
  states_.known = {{"orders", "debt"}, {"billing", "more"}};
  mover_.Copy({{"billing", 1}, {"orders", 1}});
  EXPECT_EQ(store_.statements, 1);
  EXPECT_EQ(store_.stored["orders"].whole, "debt");
  EXPECT_EQ(store_.stored["billing"].whole, "more");
}

TEST_F(StateMoverTest, WhatHasNotChangedIsWrittenOnce) {
  states_.known["orders"] = "";
  for (int i = 0; i < 3; ++i) mover_.Copy({{"orders", 1}});
  EXPECT_EQ(store_.statements, 1);
  states_.known["orders"] = "learnt";
  for (int i = 0; i < 3; ++i) mover_.Copy({{"orders", 1}});
  EXPECT_EQ(store_.statements, 2);
  states_.known["orders"] = "debt";
  for (int i = 0; i < 3; ++i) mover_.Copy({{"orders", 1}});
  EXPECT_EQ(store_.statements, 3);
  EXPECT_THAT(store_.sequences, ElementsAre(1, 2, 3));
}

TEST_F(StateMoverTest, AWriteThatFailedIsTriedAgain) {
  states_.known["orders"] = "";
  store_.status = absl::UnavailableError("away");
  mover_.Copy({{"orders", 1}});
  store_.status = absl::OkStatus();
  mover_.Copy({{"orders", 1}});
  EXPECT_THAT(store_.sequences, ElementsAre(2));
}

TEST_F(StateMoverTest, AnotherGenerationCountsAnew) {
  states_.known["orders"] = "debt";
  mover_.Copy({{"orders", 1}});
  mover_.Copy({{"orders", 3}});
  EXPECT_THAT(store_.sequences, ElementsAre(1, 1));
}

TEST_F(StateMoverTest, WhatCannotBePutTogetherIsLearnt) {
  store_.status = absl::DataLossError("a change is missing");
  EXPECT_TRUE(TakeOne(2).ok());
  EXPECT_EQ(states_.adopted["orders"], Takeover::kLearning);
}

TEST_F(StateMoverTest, WithoutTheStoreNothingIsAdopted) {
  store_.status = absl::UnavailableError("away");
  EXPECT_TRUE(absl::IsUnavailable(TakeOne(2)));
  EXPECT_TRUE(states_.adopted.empty());
}

TEST_F(StateMoverTest, AllThatComeAreReadByOneStatement) {
  states_.known = {{"orders", "debt"}, {"billing", "more"}};
  (void)mover_.Save({{"billing", 1}, {"orders", 1}});
  for (const absl::Status& status : mover_.Take({{"billing", 2}, {"orders", 2}})) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(store_.statements, 2);
  EXPECT_EQ(states_.known["orders"], "debt");
  EXPECT_EQ(states_.known["billing"], "more");
}

TEST_F(StateMoverTest, WhatTakesTooLongIsReadInHalvesNextTime) {
  store_.most_at_once = 2;
  std::vector<cluster::Held> targets;
  for (int i = 0; i < 8; ++i) targets.push_back({absl::StrCat("t", i), 1});
  int rounds = 0;
  while (!targets.empty()) {
    ASSERT_LT(++rounds, 4);
    const std::vector<absl::Status> done = mover_.Take(targets);
    std::vector<cluster::Held> left;
    for (size_t i = 0; i < done.size(); ++i) {
      if (!done[i].ok()) left.push_back(targets[i]);
    }
    targets = left;
  }
  EXPECT_EQ(states_.adopted.size(), 8U);
}

// Nobody knows what it owed when the configuration lost it; it may be another server's yet.
TEST_F(StateMoverTest, OfWhatTheConfigurationHasLostTheLastCopyIsNotTheLastState) {
  states_.known["orders"] = "debt";
  mover_.Copy({{"orders", 1}});
  states_.known.clear();
  EXPECT_TRUE(mover_.Save({{"orders", 1}}).front().ok());
  EXPECT_EQ(store_.stored["orders"].whole, "debt");
  EXPECT_FALSE(store_.stored["orders"].is_final);
  EXPECT_TRUE(TakeOne(2).ok());
  EXPECT_EQ(states_.adopted["orders"], Takeover::kLearning);
}

TEST_F(StateMoverTest, WhatWasHandedOverIsPassedOnAsTheLast) {
  states_.known["orders"] = "debt";
  states_.healths["orders"] = "sample";
  (void)mover_.Save({{"orders", 1}});
  EXPECT_TRUE(mover_.PassOn({{"orders", 2}}).front().ok());
  EXPECT_TRUE(store_.stored["orders"].is_final);
  EXPECT_EQ(store_.stored["orders"].health, "sample");
  EXPECT_TRUE(TakeOne(3).ok());
  EXPECT_EQ(states_.adopted["orders"], Takeover::kHandedOver);
  EXPECT_EQ(states_.known["orders"], "debt");
}

TEST_F(StateMoverTest, WhatADeadOwnerLeftIsPassedOnAsThat) {
  states_.known["orders"] = "debt";
  mover_.Copy({{"orders", 1}});
  states_.known.clear();
  EXPECT_TRUE(mover_.PassOn({{"orders", 2}}).front().ok());
  EXPECT_TRUE(TakeOne(3).ok());
  EXPECT_EQ(states_.adopted["orders"], Takeover::kLearning);
  EXPECT_EQ(states_.known["orders"], "debt");
}

TEST_F(StateMoverTest, WithoutTheStoreNothingIsPassedOn) {
  store_.status = absl::UnavailableError("away");
  EXPECT_TRUE(absl::IsUnavailable(mover_.PassOn({{"orders", 2}}).front()));
}

// Of reading alone: a table may be there to be read and not to be written.
TEST_F(StateMoverTest, WhatWasWrittenOrFailedIsEvidenceOnce) {
  EXPECT_EQ(mover_.TakeEvidence(), std::nullopt);
  EXPECT_TRUE(TakeOne(1).ok());
  EXPECT_EQ(mover_.TakeEvidence(), std::nullopt);
  states_.known["orders"] = "debt";
  mover_.Copy({{"orders", 1}});
  EXPECT_EQ(mover_.TakeEvidence(), absl::OkStatus());
  EXPECT_EQ(mover_.TakeEvidence(), std::nullopt);
  store_.status = absl::PermissionDeniedError("no grant");
  EXPECT_FALSE(TakeOne(3).ok());
  EXPECT_EQ(mover_.TakeEvidence(), store_.status);
  (void)mover_.Save({{"orders", 1}});
  EXPECT_EQ(mover_.TakeEvidence(), store_.status);
}

TEST_F(StateMoverTest, WhatBecomesOfOneTargetIsNoEvidence) {
  states_.known["orders"] = "debt";
  store_.status = absl::AbortedError("it has another owner");
  mover_.Copy({{"orders", 1}});
  store_.status = absl::DataLossError("a change is missing");
  EXPECT_TRUE(TakeOne(2).ok());
  EXPECT_EQ(mover_.TakeEvidence(), std::nullopt);
}

TEST_F(StateMoverTest, WhatIsLostIsForgotten) {
  states_.known["orders"] = "debt";
  mover_.Copy({{"orders", 1}});
  mover_.Drop({"orders", 1});
  EXPECT_FALSE(states_.known.contains("orders"));
}

}  // namespace
}  // namespace headgate::membership
