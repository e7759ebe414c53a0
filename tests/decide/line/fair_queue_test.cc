#include "server/decide/line/fair_queue.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/decide/line/line_flow.h"

namespace headgate::line {
namespace {

using engine::LineFlow;

struct Job {
  LineFlow flow;
  double chunk = 1;
  int workers = 1;
};

// What each job is admitted of `amount`, where each worker asks again as soon as it was admitted.
std::vector<double> Admit(FairQueue& queue, const std::vector<Job>& jobs, double amount) {
  std::vector<double> admitted(jobs.size());
  std::map<uint64_t, size_t> asked;
  uint64_t next = 1;
  const auto ask = [&](size_t job) {
    queue.Push(next, jobs[job].flow, jobs[job].chunk, next);
    asked[next++] = job;
  };
  for (size_t job = 0; job < jobs.size(); ++job) {
    for (int i = 0; i < jobs[job].workers; ++i) ask(job);
  }
  for (double sum = 0; sum < amount;) {
    const uint64_t head = queue.Head().value();
    const size_t job = asked.at(head);
    EXPECT_TRUE(queue.Remove(head));
    queue.Charge(jobs[job].flow, jobs[job].chunk);
    admitted[job] += jobs[job].chunk;
    sum += jobs[job].chunk;
    ask(job);
  }
  for (uint64_t id = 1; id < next; ++id) queue.Remove(id);
  return admitted;
}

TEST(FairQueue, ManyWorkersHaveNoMoreThanOne) {
  FairQueue queue({});
  const auto admitted = Admit(queue, {{FlowOf("a"), 1, 8}, {FlowOf("b"), 1, 1}}, 1000);
  EXPECT_EQ(admitted[0], 500);
  EXPECT_EQ(admitted[1], 500);
}

TEST(FairQueue, SmallChunksHaveNoMoreThanLargeOnes) {
  FairQueue queue({});
  const auto admitted = Admit(queue, {{FlowOf("a"), 10, 4}, {FlowOf("b"), 200, 4}}, 100'000);
  EXPECT_NEAR(admitted[0], 50'000, 200);
}

TEST(FairQueue, WeightsAreShares) {
  FairQueue queue({});
  const auto admitted = Admit(queue, {{FlowOf("a", 0, {3})}, {FlowOf("b")}}, 4000);
  EXPECT_NEAR(admitted[0], 3000, 1);
}

TEST(FairQueue, TeamsShareBeforeTheirJobsDo) {
  FairQueue queue({});
  std::vector<Job> jobs = {{FlowOf("y")}};
  for (char job = 'A'; job < 'A' + 50; ++job) jobs.push_back({FlowOf(std::string("x") + job)});
  const auto admitted = Admit(queue, jobs, 10'000);
  EXPECT_EQ(admitted[0], 5000);
  for (size_t i = 1; i < jobs.size(); ++i) EXPECT_EQ(admitted[i], 100);
}

TEST(FairQueue, ChecksOfALevelShareWithThoseBelowIt) {
  FairQueue queue({});
  const auto admitted = Admit(queue, {{FlowOf("x")}, {FlowOf("xa")}}, 1000);
  EXPECT_EQ(admitted[0], 500);
}

TEST(FairQueue, LowestPriorityGetsItsFloor) {
  FairQueue queue({.priority_floor = 0.05});
  const auto admitted = Admit(queue, {{FlowOf("a", 9), 1, 4}, {FlowOf("b", -3), 1, 4}}, 10'000);
  EXPECT_NEAR(admitted[1], 500, 1);
}

TEST(FairQueue, FloorsTakeAtMostHalfTogether) {
  FairQueue queue({.priority_floor = 0.25});
  std::vector<Job> jobs;
  for (int priority = 0; priority < 6; ++priority) jobs.push_back({FlowOf("a", priority)});
  const auto admitted = Admit(queue, jobs, 10'000);
  EXPECT_NEAR(admitted[5], 5000, 10);
  EXPECT_NEAR(admitted[0], 1000, 10);
}

TEST(FairQueue, WithoutAFloorTheLowerWaits) {
  FairQueue queue({.priority_floor = 0});
  const auto admitted = Admit(queue, {{FlowOf("a", 1)}, {FlowOf("b", 0)}}, 100);
  EXPECT_EQ(admitted[1], 0);
}

TEST(FairQueue, LowerPriorityThatWasAloneOwesNothingForIt) {
  FairQueue queue({.priority_floor = 0.05});
  Admit(queue, {{FlowOf("b", 0)}}, 10'000);
  const auto admitted = Admit(queue, {{FlowOf("a", 1)}, {FlowOf("b", 0)}}, 1000);
  EXPECT_NEAR(admitted[1], 50, 1);
}

TEST(FairQueue, OneIdentityIsServedInOrder) {
  FairQueue queue({});
  queue.Push(7, FlowOf("a"), 5, 30);
  queue.Push(8, FlowOf("a"), 1, 10);
  queue.Push(9, FlowOf("a"), 1, 20);
  EXPECT_EQ(queue.Head(), 8);
  EXPECT_EQ(queue.Position(8), 1);
  EXPECT_EQ(queue.Position(9), 2);
  EXPECT_EQ(queue.Position(7), 3);
  EXPECT_EQ(queue.CostAhead(7), 2);
  queue.Remove(8);
  EXPECT_EQ(queue.Head(), 9);
  EXPECT_EQ(queue.Position(8), 0);
}

TEST(FairQueue, WhoDoesNotAskSavesNothingUp) {
  FairQueue queue({});
  Admit(queue, {{FlowOf("a")}, {FlowOf("b")}}, 10);
  Admit(queue, {{FlowOf("a")}}, 10'000);
  const auto admitted = Admit(queue, {{FlowOf("a")}, {FlowOf("b")}}, 100);
  EXPECT_NEAR(admitted[1], 50, 1);
}

TEST(FairQueue, WhoWasAdmittedPastTheLineHasHadThat) {
  FairQueue queue({});
  queue.Push(1, FlowOf("a"), 1, 1);
  queue.Push(2, FlowOf("b"), 1, 2);
  queue.Charge(FlowOf("a"), 50);
  queue.Remove(1);
  queue.Remove(2);
  const auto admitted = Admit(queue, {{FlowOf("a")}, {FlowOf("b")}}, 150);
  EXPECT_NEAR(admitted[0], 50, 1);
  EXPECT_NEAR(admitted[1], 100, 1);
}

TEST(FairQueue, RemovedWithoutAChargeItKeepsItsTurn) {
  FairQueue queue({});
  Admit(queue, {{FlowOf("a")}, {FlowOf("b")}}, 10);
  queue.Push(1, FlowOf("a"), 1, 1);
  queue.Push(2, FlowOf("b"), 1, 2);
  ASSERT_EQ(queue.Head(), 1);
  queue.Remove(1);
  EXPECT_EQ(queue.Head(), 2);
  queue.Charge(FlowOf("b"), 1);
  queue.Push(3, FlowOf("a"), 1, 1);
  EXPECT_EQ(queue.Head(), 3);
}

TEST(FairQueue, ReportsMoveTheTurn) {
  FairQueue queue({});
  queue.Push(1, FlowOf("a"), 1, 1);
  queue.Push(2, FlowOf("b"), 1, 2);
  queue.Charge(FlowOf("a"), 100);
  queue.Charge(FlowOf("b"), 90);
  EXPECT_EQ(queue.Head(), 2);
  queue.Adjust(FlowOf("a").LeafKey(), -50);  // it cost 50 after all
  EXPECT_EQ(queue.Head(), 1);
  queue.Adjust(FlowOf("a").LeafKey(), 50);
  EXPECT_EQ(queue.Head(), 2);
}

TEST(FairQueue, CostAheadIsWhatSiblingsGetMeanwhile) {
  FairQueue queue({});
  for (uint64_t i = 0; i < 10; ++i) queue.Push(100 + i, FlowOf("a"), 1, i);
  for (uint64_t i = 0; i < 3; ++i) queue.Push(200 + i, FlowOf("b"), 1, i);
  // The fourth of a: three of its own, and all three of b.
  EXPECT_NEAR(queue.CostAhead(103), 6, 1);
  // The last of a: nine of its own, and b has no more than three.
  EXPECT_EQ(queue.CostAhead(109), 12);
  EXPECT_EQ(queue.Position(109), 13);
}

TEST(FairQueue, MemoryIsBoundedByThoseWhoWait) {
  FairQueue queue({.max_flows = 100});
  for (uint64_t i = 0; i < 20'000; ++i) {
    LineFlow flow;
    flow.depth = 1;
    flow.levels[0].key = 2 * i + 1;
    queue.Charge(flow, 1);
  }
  EXPECT_LT(queue.bytes(), 200'000);
}

TEST(FairQueue, ForgottenFlowsLeaveTheSharesOfThoseWhoWait) {
  FairQueue queue({.max_flows = 32});
  std::vector<Job> jobs = {{FlowOf("a"), 1, 8}, {FlowOf("b")}};
  std::vector<double> sum(2);
  for (uint64_t round = 0; round < 1000; ++round) {
    LineFlow passing;
    passing.depth = 1;
    passing.levels[0].key = 2 * round + 1'000'001;
    queue.Charge(passing, 1);
    const auto admitted = Admit(queue, jobs, 10);
    for (size_t i = 0; i < 2; ++i) sum[i] += admitted[i];
  }
  EXPECT_NEAR(sum[1] / (sum[0] + sum[1]), 0.5, 0.01);
}

TEST(FairQueue, WeightsOfTeamsHoldWhateverTheirJobsAre) {
  FairQueue queue({});
  std::vector<Job> jobs = {{FlowOf("ya", 0, {3}), 5, 2}};
  for (char job = 'A'; job < 'A' + 20; ++job) {
    jobs.push_back({FlowOf(std::string("x") + job, 0, {1, 1000})});
  }
  const auto admitted = Admit(queue, jobs, 40'000);
  EXPECT_NEAR(admitted[0], 30'000, 10);
}

TEST(FairQueue, WeightCountsFromTheNextPushOn) {
  FairQueue queue({});
  Admit(queue, {{FlowOf("a")}, {FlowOf("b")}}, 1000);
  const auto admitted = Admit(queue, {{FlowOf("a", 0, {4})}, {FlowOf("b")}}, 1000);
  EXPECT_NEAR(admitted[0], 800, 2);
}

TEST(FairQueue, ShareOfWhoDoesNotAskGoesToThoseWhoDo) {
  FairQueue queue({});
  const auto together = Admit(queue, {{FlowOf("a")}, {FlowOf("b")}, {FlowOf("c")}}, 3000);
  EXPECT_NEAR(together[0], 1000, 1);
  const auto without = Admit(queue, {{FlowOf("a")}, {FlowOf("b")}}, 3000);
  EXPECT_NEAR(without[0], 1500, 2);
  const auto again = Admit(queue, {{FlowOf("a")}, {FlowOf("b")}, {FlowOf("c")}}, 3000);
  EXPECT_NEAR(again[2], 1000, 2);
}

TEST(FairQueue, WhoComesBackIsNextAtOnce) {
  FairQueue queue({});
  queue.Charge(FlowOf("b"), 10);
  Admit(queue, {{FlowOf("a"), 10}}, 10'000);
  for (uint64_t id = 1; id <= 50; ++id) queue.Push(id, FlowOf("a"), 10, id);
  queue.Charge(FlowOf("a"), 10);
  queue.Push(51, FlowOf("b"), 10, 51);
  EXPECT_EQ(queue.Head(), 51);
}

TEST(FairQueue, PriorityThatWaitsAloneGetsAll) {
  FairQueue queue({});
  const auto admitted = Admit(queue, {{FlowOf("a", -5), 7}}, 700);
  EXPECT_EQ(admitted[0], 700);
}

TEST(FairQueue, FloorHoldsForLargeChunksAmongSmallOnes) {
  FairQueue queue({.priority_floor = 0.05});
  const auto admitted = Admit(queue, {{FlowOf("a", 9), 1, 4}, {FlowOf("b", 1), 200, 4}}, 100'000);
  EXPECT_NEAR(admitted[1], 5000, 1000);
}

TEST(FairQueue, LowerPriorityPaysBackNoMoreThanItsLastCheck) {
  FairQueue queue({.priority_floor = 0.05});
  queue.Push(1, FlowOf("a", 9), 1, 1);
  // Admitted past the line, beside a higher priority that waits.
  for (int i = 0; i < 1000; ++i) queue.Charge(FlowOf("b", 1), 10);
  queue.Remove(1);
  const auto admitted = Admit(queue, {{FlowOf("a", 9), 1}, {FlowOf("b", 1), 1}}, 2000);
  EXPECT_NEAR(admitted[1], 0.05 * (2000 - 10 / 0.05), 2);
}

TEST(FairQueue, ReportIsCountedInThePriorityChargedLast) {
  FairQueue queue({.priority_floor = 0.05});
  queue.Charge(FlowOf("a", 1), 10);
  queue.Charge(FlowOf("a", 2), 10);
  queue.Adjust(FlowOf("a").LeafKey(), 1000);
  // Of priority 1 it still has only what it was charged there.
  queue.Push(1, FlowOf("a", 1), 1, 1);
  queue.Push(2, FlowOf("b", 1), 1, 2);
  queue.Charge(FlowOf("b", 1), 20);
  EXPECT_EQ(queue.Head(), 1);
}

TEST(FairQueue, EqualTagsGoByOrderWhateverTheKeys) {
  for (const bool swapped : {false, true}) {
    FairQueue queue({});
    queue.Push(1, FlowOf(swapped ? "b" : "a"), 1, 20);
    queue.Push(2, FlowOf(swapped ? "a" : "b"), 1, 10);
    EXPECT_EQ(queue.Head(), 2);
  }
}

TEST(FairQueue, SmallCostsStillCountAfterBillionsOfCharges) {
  FairQueue queue({});
  // As far as 10^9 charges of 10^9 come at the least weight.
  queue.Charge(FlowOf("a", 0, {0.001}), 1e18);
  queue.Push(1, FlowOf("a", 0, {0.001}), 1, 1);
  queue.Charge(FlowOf("b", 0, {0.001}), 1e18);
  queue.Remove(1);
  const auto admitted = Admit(queue, {{FlowOf("a", 0, {1000})}, {FlowOf("b", 0, {250})}}, 10'000);
  EXPECT_NEAR(admitted[0], 8000, 5);
}

TEST(FairQueue, NextIsTheOrderInWhichTheyGo) {
  FairQueue queue({});
  for (uint64_t id = 1; id <= 3; ++id) queue.Push(id, FlowOf("a"), 1, id);
  queue.Push(4, FlowOf("b", 0, {2}), 1, 4);
  queue.Push(5, FlowOf("b", 0, {2}), 1, 5);
  EXPECT_EQ(queue.Next(9), (std::vector<uint64_t>{1, 4, 5, 2, 3}));
  EXPECT_EQ(queue.Next(2), (std::vector<uint64_t>{1, 4}));
  EXPECT_EQ(queue.size(), 5);
}

TEST(FairQueue, FloodOfDeepStrangersIsForgotten) {
  FairQueue queue({.max_flows = 100});
  queue.Push(1, FlowOf("a"), 1, 1);
  for (uint64_t i = 0; i < 20'000; ++i) {
    LineFlow flow;
    flow.priority = static_cast<int>(i % 1000);
    for (uint64_t level = 0; level < 8; ++level) {
      flow.levels[level].key = 2 * (8 * i + level) + 1'000'000'001;
    }
    flow.depth = 8;
    queue.Charge(flow, 1);
  }
  EXPECT_LE(queue.flows(), 100);
  EXPECT_LT(queue.bytes(), 200'000);
}

TEST(FairQueue, LargestDebtOutlivesAFloodOfStrangers) {
  FairQueue queue({.max_flows = 32});
  queue.Push(1, FlowOf("b"), 1, 1);
  queue.Charge(FlowOf("a"), 500);
  for (uint64_t i = 0; i < 10'000; ++i) {
    LineFlow stranger;
    stranger.depth = 1;
    stranger.levels[0].key = 2 * i + 1'000'001;
    queue.Charge(stranger, 1);
  }
  queue.Push(2, FlowOf("a"), 1, 2);
  queue.Charge(FlowOf("b"), 400);
  EXPECT_EQ(queue.Head(), 1);
  queue.Charge(FlowOf("b"), 200);
  EXPECT_EQ(queue.Head(), 2);
}

TEST(FairQueue, KnownFlowsForgetNobody) {
  FairQueue queue({.max_flows = 4});
  queue.Charge(FlowOf("a"), 100);
  queue.Charge(FlowOf("b"), 100);
  ASSERT_EQ(queue.flows(), 4);
  for (int i = 0; i < 100; ++i) queue.Charge(FlowOf("b"), 1);
  EXPECT_EQ(queue.flows(), 4);
  queue.Push(1, FlowOf("b"), 1, 1);
  queue.Push(2, FlowOf("a"), 1, 2);
  EXPECT_EQ(queue.Head(), 2);
}

}  // namespace
}  // namespace headgate::line
