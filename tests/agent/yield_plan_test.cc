#include "client/agent/yield_plan.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::agent {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;

// The ranks of sessions 1, 2, ... that are all of batch work.
std::vector<Rank> RanksOf(std::vector<BatchSession> sessions, std::vector<LockWait> waits) {
  YieldPlan plan;
  std::vector<Rank> ranks;
  for (const Assignment& one : plan.Decide(sessions, waits, {})) ranks.push_back(one.rank);
  return ranks;
}

constexpr Rank kYields = Rank::kYields;
constexpr Rank kAwaited = Rank::kRaisedForWaiter;
constexpr Rank kStarves = Rank::kRaisedForStarving;
constexpr Rank kFloor = Rank::kRaisedForFloor;

TEST(YieldPlan, BatchSessionsYieldWhileNobodyElseWaitsForThem) {
  struct Case {
    const char* what;
    std::vector<LockWait> waits;
    std::vector<Rank> ranks;
  };
  // 1, 2 and 3 are batch work; 10, 11 and 12 are not.
  const Case cases[] = {
      {"nobody waits", {}, {kYields, kYields, kYields}},
      {"one waits for 2", {{10, {2}}}, {kYields, kAwaited, kYields}},
      {"one waits for two of them", {{10, {1, 3}}}, {kAwaited, kYields, kAwaited}},
      {"batch waits for batch", {{1, {2}}}, {kYields, kYields, kYields}},
      {"one waits for 1, which waits for 2", {{10, {1}}, {1, {2}}}, {kAwaited, kAwaited, kYields}},
      {"one waits for another, which waits for 3",
       {{10, {11}}, {11, {3}}},
       {kYields, kYields, kAwaited}},
      {"others wait for each other", {{10, {11}}, {12, {10}}}, {kYields, kYields, kYields}},
      {"a deadlock is walked round once",
       {{10, {1}}, {1, {2}}, {2, {1}}},
       {kAwaited, kAwaited, kYields}},
      {"batch waits for who waits for batch", {{1, {10}}, {10, {2}}}, {kYields, kAwaited, kYields}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(RanksOf({{.pid = 1}, {.pid = 2}, {.pid = 3}}, one.waits), one.ranks) << one.what;
  }
}

TEST(YieldPlan, NamesWhoWaits) {
  YieldPlan plan;
  EXPECT_THAT(plan.Decide({{{.pid = 1, .began_us = 5}}}, {{{.pid = 10, .blockers = {1}}}}, {}),
              ElementsAre(Assignment{.pid = 1, .began_us = 5, .rank = kAwaited, .waiter = 10}));
}

TEST(YieldPlan, AParallelQueryHasOneRank) {
  const std::vector<BatchSession> query = {{.pid = 1}, {.pid = 2, .leader = 1}, {.pid = 3}};
  EXPECT_THAT(RanksOf(query, {{10, {1}}}), ElementsAre(kAwaited, kAwaited, kYields));
  EXPECT_THAT(RanksOf(query, {{10, {2}}}), ElementsAre(kAwaited, kAwaited, kYields));
  // Whose leader is seen no more stands for itself.
  EXPECT_THAT(RanksOf({{.pid = 2, .leader = 1}}, {{10, {2}}}), ElementsAre(kAwaited));
}

// A session that is looked at each half second.
class Starvation : public ::testing::Test {
 protected:
  BatchSession Session(int64_t ran_ns) const {
    return {.pid = 1, .began_us = 5, .holds = true, .work = Work::kProcessor, .ran_ns = ran_ns};
  }
  Rank At(int64_t now_ns, const BatchSession& session) {
    return plan_.Decide({session}, {}, {.monotonic_ns = now_ns})[0].rank;
  }

  YieldPlan plan_;
};

TEST_F(Starvation, RaisesWhoHoldsATransactionAndGetsNextToNothingForASecond) {
  EXPECT_EQ(At(0, Session(100 * kMs)), kYields);
  EXPECT_EQ(At(kSecond / 2, Session(105 * kMs)), kYields);
  EXPECT_EQ(At(kSecond, Session(110 * kMs)), kStarves);
  // Until it has run for 200 ms, which then counts from the beginning.
  EXPECT_EQ(At(3 * kSecond / 2, Session(309 * kMs)), kStarves);
  EXPECT_EQ(At(2 * kSecond, Session(310 * kMs)), kYields);
  EXPECT_EQ(At(3 * kSecond - 1, Session(310 * kMs)), kYields);
  EXPECT_EQ(At(3 * kSecond, Session(310 * kMs)), kStarves);
}

TEST_F(Starvation, DoesNotRaiseWhoRunsNowAndThen) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(At(i * kSecond, Session(i * 20 * kMs)), kYields) << i;
}

TEST_F(Starvation, DoesNotRaiseWhoWaitsForSomethingElse) {
  BatchSession waits = Session(0);
  waits.work = Work::kLocks;
  EXPECT_EQ(At(0, Session(0)), kYields);
  EXPECT_EQ(At(kSecond / 2, waits), kYields);
  EXPECT_EQ(At(kSecond, Session(0)), kYields);
  EXPECT_EQ(At(3 * kSecond / 2, Session(0)), kYields);
  EXPECT_EQ(At(2 * kSecond, Session(0)), kStarves);
}

TEST_F(Starvation, AsksForProcessorTimesOnlyWhereTheySaySomething) {
  BatchSession waits = Session(0);
  waits.work = Work::kLocks;
  EXPECT_TRUE(plan_.AsksProcessorTime(Session(0)));
  EXPECT_FALSE(plan_.AsksProcessorTime(waits));
  At(0, Session(0));
  EXPECT_EQ(At(kSecond, Session(0)), kStarves);
  EXPECT_TRUE(plan_.AsksProcessorTime(waits));
  EXPECT_EQ(At(kSecond + 1, waits), kStarves);
}

// Such as one that leads workers, and runs nothing itself.
TEST_F(Starvation, RaisesWhoRunsNothingForTwoSecondsAtMost) {
  EXPECT_EQ(At(0, Session(0)), kYields);
  EXPECT_EQ(At(kSecond, Session(0)), kStarves);
  EXPECT_EQ(At(3 * kSecond - 1, Session(0)), kStarves);
  EXPECT_EQ(At(3 * kSecond, Session(0)), kYields);
  EXPECT_EQ(At(4 * kSecond, Session(0)), kStarves);
}

TEST_F(Starvation, EndsWithTheTransaction) {
  At(0, Session(0));
  EXPECT_EQ(At(kSecond, Session(0)), kStarves);
  BatchSession without_time = Session(0);
  without_time.ran_ns.reset();
  EXPECT_EQ(At(kSecond + 1, without_time), kStarves);
  EXPECT_EQ(At(kSecond + 2, {.pid = 1, .began_us = 5, .ran_ns = 0}), kYields);
  EXPECT_EQ(At(kSecond + 3, Session(0)), kYields);
}

TEST_F(Starvation, IsNotInheritedByASessionWithTheSameNumber) {
  At(0, Session(0));
  BatchSession other = Session(0);
  other.began_us = 6;
  EXPECT_EQ(At(kSecond, other), kYields);
  EXPECT_EQ(At(2 * kSecond, other), kStarves);
}

TEST_F(Starvation, RaisesTheLeaderWithItsWorker) {
  const BatchSession leader = {.pid = 2};
  BatchSession worker = Session(0);
  worker.leader = 2;
  plan_.Decide({leader, worker}, {}, {});
  const std::vector<Assignment> made =
      plan_.Decide({leader, worker}, {}, {.monotonic_ns = kSecond});
  EXPECT_EQ(made[0].rank, kStarves);
  EXPECT_EQ(made[1].rank, kStarves);
}

// Sessions 1 to 6, of which those want to run that are named, at looks 0.1 s apart.
class ReliefTest : public ::testing::Test {
 protected:
  std::vector<Rank> Look(const std::vector<int>& wanting, bool relieves = true) {
    std::vector<BatchSession> sessions;
    for (int pid = 1; pid <= 6; ++pid) {
      const bool wants = std::find(wanting.begin(), wanting.end(), pid) != wanting.end();
      sessions.push_back({.pid = pid, .work = wants ? Work::kProcessor : Work::kNone});
    }
    std::vector<Rank> ranks;
    now_ns_ += 100 * kMs;
    const YieldPlan::Now now{.monotonic_ns = now_ns_, .relieves = relieves};
    for (const Assignment& one : plan_.Decide(sessions, {}, now)) ranks.push_back(one.rank);
    return ranks;
  }

  const ::testing::Matcher<std::vector<Rank>> all_yield_ = ::testing::Each(kYields);
  YieldPlan plan_;
  int64_t now_ns_ = kSecond;
};

TEST_F(ReliefTest, IsForThoseThatWantToRunAndForThoseThatDidASecondAgo) {
  EXPECT_THAT(Look({2}, false), all_yield_);
  EXPECT_THAT(Look({5, 6}), ElementsAre(kYields, kFloor, kYields, kYields, kFloor, kFloor));
  // There is room for one more.
  EXPECT_THAT(Look({3}), ElementsAre(kYields, kFloor, kFloor, kYields, kFloor, kFloor));
  for (int i = 0; i < 8; ++i) Look({3});
  EXPECT_THAT(Look({3}), ElementsAre(kYields, kYields, kFloor, kYields, kFloor, kFloor));
  EXPECT_THAT(Look({3}), ElementsAre(kYields, kYields, kFloor, kYields, kYields, kYields));
  EXPECT_THAT(Look({3}, false), all_yield_);
}

TEST_F(ReliefTest, WhoWantsNothingHasNone) { EXPECT_THAT(Look({}), all_yield_); }

TEST_F(ReliefTest, GoesRound) {
  const std::vector<int> all = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(Look(all), ElementsAre(kFloor, kFloor, kFloor, kFloor, kYields, kYields));
  Look(all, false);
  EXPECT_THAT(Look(all), ElementsAre(kFloor, kFloor, kYields, kYields, kFloor, kFloor));
}

TEST(Relief, IsOfAsManyAsIsSaid) {
  YieldPlan plan(1);
  const std::vector<Assignment> made =
      plan.Decide({{{.pid = 1, .work = Work::kProcessor}, {.pid = 2, .work = Work::kProcessor}}},
                  {}, {.relieves = true});
  EXPECT_EQ(made[0].rank, kFloor);
  EXPECT_EQ(made[1].rank, kYields);
}

// A leader that waits for its workers wants to run as much as they do.
TEST(Relief, IsOfAWholeParallelQueryAndAWaitIsTheBetterReason) {
  YieldPlan plan;
  const std::vector<BatchSession> query = {{.pid = 1, .work = Work::kOther},
                                           {.pid = 2, .leader = 1, .work = Work::kProcessor},
                                           {.pid = 3}};
  const std::vector<Assignment> made =
      plan.Decide(query, {{{.pid = 10, .blockers = {3}}}}, {.relieves = true});
  EXPECT_EQ(made[0].rank, kFloor);
  EXPECT_EQ(made[1].rank, kFloor);
  EXPECT_EQ(made[2].rank, kAwaited);
}

}  // namespace
}  // namespace headgate::agent
