#include "server/decide/engine/permit_holders.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {
namespace {

constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr uint64_t kHashSeed = 99;

PermitHolder Root(const std::string& name) {
  return {.key = PermitHolder::RootKey(HashBytes(name, kHashSeed)), .name = name};
}
PermitHolder CallerOf(const std::string& name) {
  return {.key = PermitHolder::CallerKey(HashBytes(name, kHashSeed)), .name = name};
}
bool Takes(PermitHolders& holders, const std::string& root, int64_t now_ns = 0) {
  return holders.Take(Root(root), now_ns, {}) != PermitHolders::kNone;
}

class PermitHoldersTest : public testing::Test {
 protected:
  // How many of `most` permits the holder gets.
  int64_t TakeAll(const PermitHolder& holder, int64_t most = 1 << 20) {
    int64_t taken = 0;
    while (taken < most && holders_.Take(holder, 0, {.turn = static_cast<uint64_t>(taken)}) !=
                               PermitHolders::kNone) {
      ++taken;
    }
    return taken;
  }

  PermitHolders holders_{1 << 15, 0.5};
};

TEST_F(PermitHoldersTest, OneAloneGetsItsShareOfTheTable) {
  EXPECT_EQ(TakeAll(Root("etl")), 1 << 14);
  EXPECT_EQ(TakeAll(Root("etl")), 0);
}

TEST_F(PermitHoldersTest, AnotherShareIsOfTheTableToo) {
  PermitHolders quarter(4000, 0.25);
  int64_t taken = 0;
  while (Takes(quarter, "etl")) ++taken;
  EXPECT_EQ(taken, 1000);
}

TEST_F(PermitHoldersTest, AShareOfOneLeavesNobodyAnything) {
  PermitHolders all(64, 1);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(Takes(all, "etl"));
  EXPECT_FALSE(Takes(all, "etl"));
  EXPECT_FALSE(Takes(all, "other"));
  EXPECT_TRUE(all.StandingOf(Root("other")).table_full);
}

TEST_F(PermitHoldersTest, ManyThatTakeAllTheyCanLeaveSomeForWhoComesNext) {
  for (int i = 0; i < 200; ++i) EXPECT_GT(TakeAll(Root(absl::StrCat("greedy-", i))), 0);
  EXPECT_GE(TakeAll(Root("honest")), 4);
}

TEST_F(PermitHoldersTest, TakingTurnsAllGetAsMany) {
  std::vector<int64_t> taken(31);
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < taken.size(); ++i) {
      const int64_t got = TakeAll(Root(absl::StrCat("greedy-", i)), 1);
      taken[i] += got;
      more |= got > 0;
    }
  }
  for (const int64_t of_one : taken) EXPECT_NEAR(static_cast<double>(of_one), 903, 2);
  EXPECT_NEAR(static_cast<double>(TakeAll(Root("honest"))), 388, 2);
}

TEST_F(PermitHoldersTest, WhatIsReleasedCanBeTakenAgain) {
  const int64_t taken = TakeAll(Root("etl"));
  for (int64_t i = 0; i < taken; ++i) holders_.Release(holders_.Find(Root("etl")), 3);
  EXPECT_EQ(TakeAll(Root("etl")), taken);
}

TEST_F(PermitHoldersTest, ACallerIsNotTheRootOfItsName) {
  EXPECT_GT(TakeAll(Root("etl")), 0);
  EXPECT_EQ(TakeAll(Root("etl")), 0);
  EXPECT_GT(TakeAll(CallerOf("etl")), 0);
}

TEST_F(PermitHoldersTest, WithoutANameAllAreOneHolderBesideCallers) {
  EXPECT_EQ(TakeAll(CallerOf("backfill"), 1), 1);
  int64_t taken = 0;
  for (int i = 0; i < 500; ++i) taken += TakeAll(Root(absl::StrCat("flood-", i)));
  EXPECT_GT(taken, 1 << 14);
  EXPECT_LT(taken, (1 << 14) + 502);
  EXPECT_GT(TakeAll(CallerOf("backfill")), 6000);
}

TEST_F(PermitHoldersTest, WhoHasACellAndNoPermitAlwaysGetsOne) {
  ASSERT_EQ(TakeAll(Root("honest"), 1), 1);
  holders_.Release(holders_.Find(Root("honest")), 0);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 40'000; ++i) TakeAll(Root(absl::StrCat("flood-", i)));
  }
  EXPECT_EQ(TakeAll(Root("honest"), 1), 1);
}

TEST_F(PermitHoldersTest, ThoseWithoutACellOfTheirOwnHaveOneShareTogether) {
  int64_t taken = 0;
  for (int i = 0; i < 40'000; ++i) taken += TakeAll(Root(absl::StrCat("flood-", i)), 1);
  // 1,024 cells with one each, and 4/7 of the rest but for an eighth of all.
  EXPECT_NEAR(static_cast<double>(taken), 1024 + (32768 - 1024 - 4096) * 4 / 7.0, 10);
}

TEST_F(PermitHoldersTest, ACellThatNobodyUsedForAMinuteGoesToAnother) {
  for (int i = 0; i < 5000; ++i) {
    const std::string name = absl::StrCat("early-", i);
    const uint16_t cell = holders_.Take(Root(name), 0, {});
    if (cell != PermitHolders::kNone) holders_.Release(cell, 0);
  }
  EXPECT_TRUE(Takes(holders_, "late", kMinuteNs));
  EXPECT_EQ(holders_.Find(Root("late")), PermitHolders::kNone);
  EXPECT_TRUE(Takes(holders_, "later", kMinuteNs + 1));
  EXPECT_NE(holders_.Find(Root("later")), PermitHolders::kNone);
}

TEST_F(PermitHoldersTest, TellsWhoHasMostAndWhoWasTurnedAway) {
  TakeAll(Root("etl"), 5);
  TakeAll(CallerOf("backfill"), 7);
  holders_.CountTurnedAway(Root("etl"));
  holders_.CountTurnedAway(Root("etl"));
  const std::vector<PermitHolderView> top = holders_.Top(10);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].name, "backfill");
  EXPECT_TRUE(top[0].is_caller);
  EXPECT_EQ(top[0].permits, 7);
  EXPECT_EQ(top[1].name, "etl");
  EXPECT_FALSE(top[1].is_caller);
  EXPECT_EQ(top[1].permits, 5);
  EXPECT_EQ(top[1].turned_away, 2);
  EXPECT_EQ(holders_.turned_away(), 2);
  EXPECT_EQ(holders_.Top(1).size(), 1U);
}

TEST_F(PermitHoldersTest, ComesBackFromWhatWasSaved) {
  TakeAll(Root("etl"), 3);
  TakeAll(CallerOf("backfill"), 2);
  std::vector<SavedHolder> names;
  holders_.SaveNames(names);
  PermitHolders after(1 << 15, 0.5);
  for (int i = 0; i < 3; ++i) {
    after.Restore(holders_.SavedKeyOf(holders_.Find(Root("etl"))), 0, true);
  }
  after.Restore(holders_.SavedKeyOf(holders_.Find(CallerOf("backfill"))), 0, true);
  after.RestoreNames(names);
  EXPECT_EQ(after.StandingOf(Root("etl")).permits, 3);
  EXPECT_EQ(after.StandingOf(CallerOf("backfill")).permits, 1);
  ASSERT_EQ(after.Top(5).size(), 2U);
  EXPECT_EQ(after.Top(5)[0].name, "etl");
}

TEST_F(PermitHoldersTest, CountsExactlyWhateverThreadsDo) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (uint32_t me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      std::vector<uint16_t> held;
      for (uint64_t i = 0; i < 20'000; ++i) {
        const std::string name = absl::StrCat("root-", i % 7);
        const uint16_t cell = holders_.Take(Root(name), 0, {.stripe = me, .turn = i});
        if (cell != PermitHolders::kNone) held.push_back(cell);
        if (held.size() < 50) continue;
        for (const uint16_t one : held) holders_.Release(one, (me + 1) % kThreads);
        held.clear();
      }
      for (const uint16_t one : held) holders_.Release(one, me);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(holders_.Top(10).empty());
  EXPECT_EQ(holders_.RoomForOne(), 1 << 14);
}

}  // namespace
}  // namespace headgate::engine
