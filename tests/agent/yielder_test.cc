#include "client/agent/yielder.h"

#include "client/agent/change_text.h"
#include "client/agent/restore.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/fake_processes.h"
#include "tests/testing/temp_folder.h"

namespace headgate::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kPostmaster = 1;
using Kind = Yielder::Change::Kind;

class YielderTest : public ::testing::Test {
 protected:
  YielderTest() {
    for (const int pid : {7, 8}) processes_.Start(pid, {});
  }

  static Assignment Session(int pid, Rank rank = Rank::kYields, int64_t began_us = 5) {
    return {.pid = pid, .began_us = began_us, .rank = rank, .waiter = 40};
  }
  std::vector<Kind> Apply(std::vector<Assignment> assignments) {
    changes_ = yielder_.Apply(assignments, kPostmaster);
    std::vector<Kind> kinds;
    for (const Yielder::Change& change : changes_) kinds.push_back(change.kind);
    return kinds;
  }

  TempFolder folder_;
  std::unique_ptr<Journal> journal_ = *Journal::Open(folder_.File("state"), absl::ZeroDuration());
  FakeProcesses processes_;
  Yielder yielder_{processes_, *journal_, {.kind = Means::Kind::kIdleClass}};
  std::vector<Yielder::Change> changes_;
};

TEST_F(YielderTest, LowersOnceRaisesAndLowersAgain) {
  EXPECT_THAT(Apply({Session(7), Session(8)}), ElementsAre(Kind::kYields, Kind::kYields));
  EXPECT_THAT(Apply({Session(7), Session(8)}), IsEmpty());
  EXPECT_THAT(Apply({Session(7, Rank::kRaisedForWaiter), Session(8)}), ElementsAre(Kind::kRaised));
  EXPECT_FALSE(processes_.IsLowered(7));
  EXPECT_TRUE(processes_.IsLowered(8));
  EXPECT_EQ(yielder_.yielding(), 1u);
  EXPECT_EQ(yielder_.raised(), 1u);
  EXPECT_THAT(journal_->Records(), SizeIs(1));
  EXPECT_THAT(TextOf(changes_), ElementsAre("session 7 is raised: session 40 waits for it"));
  EXPECT_THAT(Apply({Session(7), Session(8)}), ElementsAre(Kind::kYields));
  EXPECT_TRUE(processes_.IsLowered(7));
}

TEST_F(YielderTest, RestoresWhoIsNoBatchWorkAnyMore) {
  Apply({Session(7), Session(8)});
  EXPECT_THAT(Apply({Session(8)}), ElementsAre(Kind::kRestored));
  EXPECT_FALSE(processes_.IsLowered(7));
  EXPECT_THAT(yielder_.RestoreAll(), SizeIs(1));
  EXPECT_FALSE(processes_.IsLowered(8));
  EXPECT_THAT(journal_->Records(), IsEmpty());
}

TEST_F(YielderTest, NeverTouchesAProcessThatHasTheNumberOfOneThatEnded) {
  Apply({Session(7)});
  processes_.End(7);
  processes_.Start(7, {.is_lowered = true});  // somebody else's business
  EXPECT_THAT(Apply({}), ElementsAre(Kind::kEnded));
  EXPECT_TRUE(processes_.IsLowered(7));
  EXPECT_EQ(processes_.raises, 0);
  EXPECT_THAT(journal_->Records(), IsEmpty());
}

TEST_F(YielderTest, ANewSessionWithTheSameNumberYieldsByItself) {
  Apply({Session(7)});
  processes_.End(7);
  processes_.Start(7, {});
  EXPECT_THAT(Apply({Session(7, Rank::kYields, 6)}), ElementsAre(Kind::kEnded, Kind::kYields));
  EXPECT_TRUE(processes_.IsLowered(7));
  EXPECT_THAT(journal_->Records(), SizeIs(1));
}

TEST_F(YielderTest, PutsBackAProcessWhoseNumberWasUsedAgainInThatMoment) {
  processes_.before_change = [this](int pid) {
    processes_.before_change = {};
    processes_.Start(pid, {});
  };
  EXPECT_THAT(Apply({Session(7)}), IsEmpty());
  EXPECT_FALSE(processes_.IsLowered(7));
  EXPECT_THAT(journal_->Records(), IsEmpty());
}

TEST_F(YielderTest, NeverTouchesWhatIsNoChildOfThePostmaster) {
  processes_.Start(9, {.parent = 2});
  EXPECT_THAT(Apply({Session(9)}), ElementsAre(Kind::kFailed));
  EXPECT_FALSE(processes_.IsLowered(9));
  EXPECT_THAT(TextOf(changes_),
              ElementsAre("session 9 can't be changed: its process is no child of PostgreSQL's"));
  EXPECT_THAT(Apply({Session(9)}), IsEmpty());  // it is told once
}

TEST_F(YielderTest, NeverMovesAProcessOutOfACgroupOfItsOwn) {
  Yielder by_group(processes_, *journal_, {.kind = Means::Kind::kGroup, .group = "/cg/child"});
  processes_.Start(9, {.group = "/other"});
  const auto changes = by_group.Apply({Session(7), Session(9)}, kPostmaster);
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[1].kind, Kind::kFailed);
  EXPECT_FALSE(processes_.IsLowered(9));
  ASSERT_THAT(journal_->Records(), SizeIs(1));
  EXPECT_EQ(journal_->Records()[0].before.group, "/cg");
}

TEST_F(YielderTest, WhatTheKernelTakesLaterIsTriedAgain) {
  processes_.change = absl::UnavailableError("not now");
  EXPECT_THAT(Apply({Session(7)}), IsEmpty());
  EXPECT_THAT(journal_->Records(), IsEmpty());
  processes_.change = absl::OkStatus();
  EXPECT_THAT(Apply({Session(7)}), ElementsAre(Kind::kYields));
  processes_.change = absl::UnavailableError("not now");
  EXPECT_THAT(Apply({}), IsEmpty());
  EXPECT_THAT(journal_->Records(), SizeIs(1));
  EXPECT_THAT(yielder_.RestoreAll(), IsEmpty());
  processes_.change = absl::OkStatus();
  EXPECT_THAT(Apply({}), ElementsAre(Kind::kRestored));
}

TEST_F(YielderTest, WhatIsForbiddenIsToldOnce) {
  processes_.change = absl::PermissionDeniedError("no");
  EXPECT_THAT(Apply({Session(7)}), ElementsAre(Kind::kFailed));
  EXPECT_THAT(Apply({Session(7)}), IsEmpty());
  EXPECT_EQ(yielder_.yielding(), 0u);
}

TEST_F(YielderTest, TheNextAgentRestoresWhatIsWrittenDownAndNothingElse) {
  Apply({Session(7), Session(8)});
  processes_.End(8);
  processes_.Start(8, {.is_lowered = true});
  journal_.reset();
  journal_ = *Journal::Open(folder_.File("state"), absl::ZeroDuration());
  const Restored restored = Restore(*journal_, processes_);
  EXPECT_EQ(restored.raised, 1u);
  EXPECT_EQ(restored.gone, 1u);
  EXPECT_TRUE(restored.left.ok());
  EXPECT_FALSE(processes_.IsLowered(7));
  EXPECT_TRUE(processes_.IsLowered(8));
  EXPECT_THAT(journal_->Records(), IsEmpty());
}

TEST_F(YielderTest, WhatCannotBeRestoredStaysWrittenDown) {
  Apply({Session(7)});
  processes_.change = absl::PermissionDeniedError("no");
  const Restored restored = Restore(*journal_, processes_);
  EXPECT_EQ(restored.left.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(journal_->Records(), SizeIs(1));
}

TEST_F(YielderTest, ManyChangesAreOneLine) {
  std::vector<Assignment> many;
  for (int pid = 100; pid < 105; ++pid) {
    processes_.Start(pid, {});
    many.push_back(Session(pid));
  }
  Apply(many);
  EXPECT_THAT(TextOf(changes_), ElementsAre("5 sessions yield"));
}

TEST_F(YielderTest, WhoIsRaisedForTheFloorAndYieldsAgainIsNoNews) {
  Apply({Session(7)});
  EXPECT_THAT(Apply({Session(7, Rank::kRaisedForFloor)}), ElementsAre(Kind::kRaised));
  EXPECT_FALSE(processes_.IsLowered(7));
  EXPECT_THAT(TextOf(changes_), IsEmpty());
  EXPECT_THAT(Apply({Session(7)}), ElementsAre(Kind::kYields));
  EXPECT_THAT(TextOf(changes_), IsEmpty());
  Apply({Session(7, Rank::kRaisedForFloor)});
  Apply({});
  EXPECT_FALSE(processes_.IsLowered(7));
}

TEST_F(YielderTest, WhoIsRaisedForAnotherReasonMeanwhileIs) {
  Apply({Session(7)});
  Apply({Session(7, Rank::kRaisedForFloor)});
  EXPECT_THAT(Apply({Session(7, Rank::kRaisedForWaiter)}), ElementsAre(Kind::kRaised));
  EXPECT_THAT(TextOf(changes_), ElementsAre("session 7 is raised: session 40 waits for it"));
  EXPECT_THAT(Apply({Session(7, Rank::kRaisedForWaiter)}), IsEmpty());
  EXPECT_THAT(Apply({Session(7, Rank::kRaisedForFloor)}), IsEmpty());
  Apply({Session(7)});
  EXPECT_THAT(TextOf(changes_), ElementsAre("session 7 yields"));
  // One that is relieved when it is seen first yields later.
  Apply({Session(7), Session(8, Rank::kRaisedForFloor)});
  EXPECT_THAT(changes_, IsEmpty());
  Apply({Session(7), Session(8)});
  EXPECT_THAT(TextOf(changes_), ElementsAre("session 8 yields"));
}

TEST_F(YielderTest, WhomOthersWaitForIsRaisedFirst) {
  Apply({Session(7), Session(8)});
  Apply({Session(7, Rank::kRaisedForFloor), Session(8, Rank::kRaisedForWaiter)});
  ASSERT_THAT(changes_, SizeIs(2));
  EXPECT_EQ(changes_[0].assignment.pid, 8);
}

TEST_F(YielderTest, CountsWhatSessionsRunWhateverTheirRank) {
  processes_.Run(7, 5'000'000'000);  // before
  Apply({Session(7), Session(8)});
  processes_.Run(7, 250'000'000);
  yielder_.CountProcessorTime();
  EXPECT_DOUBLE_EQ(yielder_.processor_seconds(), 0.25);
  // While it is raised too: it is batch work's all the same.
  processes_.Run(7, 250'000'000);
  Apply({Session(7, Rank::kRaisedForWaiter), Session(8)});
  processes_.Run(7, 125'000'000);
  yielder_.CountProcessorTime();
  EXPECT_DOUBLE_EQ(yielder_.processor_seconds(), 0.625);
  processes_.Run(7, 125'000'000);
  Apply({Session(7), Session(8)});
  yielder_.CountProcessorTime();
  EXPECT_DOUBLE_EQ(yielder_.processor_seconds(), 0.75);
  processes_.Run(8, 250'000'000);
  processes_.End(7);
  Apply({});
  EXPECT_DOUBLE_EQ(yielder_.processor_seconds(), 1.0);
}

TEST_F(YielderTest, OfManySessionsSomeAreCountedAtATimeAndAllInTurn) {
  std::vector<Assignment> all;
  for (int pid = 100; pid < 250; ++pid) {
    processes_.Start(pid, {});
    all.push_back(Session(pid));
  }
  Apply(all);
  for (int pid = 100; pid < 250; ++pid) processes_.Run(pid, 1'000'000'000);
  yielder_.CountProcessorTime();
  EXPECT_DOUBLE_EQ(yielder_.processor_seconds(), Yielder::kMostCounted);
  yielder_.CountProcessorTime();
  yielder_.CountProcessorTime();
  EXPECT_DOUBLE_EQ(yielder_.processor_seconds(), 150);
}

TEST_F(YielderTest, NamesThoseWithTheLowestNumbers) {
  Apply({Session(8), Session(7, Rank::kRaisedForWaiter)});
  EXPECT_THAT(yielder_.Some(Yielder::Which::kYield, 5), ElementsAre(Session(8)));
  EXPECT_THAT(yielder_.Some(Yielder::Which::kRaised, 5),
              ElementsAre(Session(7, Rank::kRaisedForWaiter)));
  Apply({Session(8), Session(7)});
  EXPECT_THAT(yielder_.Some(Yielder::Which::kYield, 1), ElementsAre(Session(7)));
}

}  // namespace
}  // namespace headgate::agent
