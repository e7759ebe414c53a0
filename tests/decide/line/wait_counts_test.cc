// What is counted of waits: whose, for what, how long, and how they ended.
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/decide/line/line_fixture.h"

namespace headgate::line {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Duration kVeryLong = absl::Minutes(10);

// By identity and by what was waited for.
using Sums = std::map<std::pair<std::string, engine::Reason>, Waits>;

class WaitCountsTest : public ::testing::Test {
 protected:
  explicit WaitCountsTest(const LineOptions& options = {}) : world_(options) {
    world_.limits.AddBucket("a", absl::Milliseconds(100));
    world_.Ask("first:etl", "a", 100, absl::ZeroDuration());
  }
  Sums Collect() {
    Sums sums;
    world_.lines.CollectWaits(world_.now(), [&](const CountedWaits& counted) {
      sums[{counted.subject->identity, counted.cause->reason}].Add(counted.waits);
    });
    return sums;
  }
  Waits CollectOne() {
    const Sums sums = Collect();
    EXPECT_THAT(sums, SizeIs(1));
    return sums.empty() ? Waits{} : sums.begin()->second;
  }
  TestLines world_;
};

TEST_F(WaitCountsTest, AWaitIsCountedInEachRoundInWhichItLasts) {
  world_.Ask("job:etl", "a", 50, kVeryLong);
  world_.RunTo(absl::Milliseconds(10));
  EXPECT_EQ(
      CollectOne(),
      (Waits{.began = 1, .waited_ns = 10 * kMs, .held_ns = 10 * kMs, .longest_ns = 10 * kMs}));
  world_.RunTo(absl::Milliseconds(30));
  EXPECT_EQ(CollectOne(),
            (Waits{.waited_ns = 20 * kMs, .held_ns = 20 * kMs, .longest_ns = 30 * kMs}));
  world_.RunTo(absl::Milliseconds(60));
  EXPECT_EQ(CollectOne(), (Waits{.admitted = 1,
                                 .waited_ns = 20 * kMs,
                                 .held_ns = 20 * kMs,
                                 .longest_ns = 50 * kMs,
                                 .ended_within = {1}}));
  EXPECT_THAT(Collect(), IsEmpty());
}

TEST_F(WaitCountsTest, HowAWaitEndedIsCountedWhereItEnded) {
  world_.Ask("late:etl", "a", 100, absl::Milliseconds(40));
  const uint64_t gone = world_.Ask("gone:etl", "a", 100, kVeryLong);
  world_.Ask("stopped:etl", "a", 100, kVeryLong);
  world_.RunTo(absl::Milliseconds(50));
  world_.Leave(gone);
  world_.lines.Close(absl::UnavailableError("stops"), world_.now());
  const Sums sums = Collect();
  const auto ends = [&](const std::string& identity) {
    const Waits& waits = sums.at({identity, engine::Reason::kCapacity});
    return std::tuple(waits.admitted, waits.denied, waits.left);
  };
  EXPECT_EQ(ends("late:etl"), std::tuple(0, 1, 0));
  EXPECT_EQ(ends("gone:etl"), std::tuple(0, 0, 1));
  EXPECT_EQ(ends("stopped:etl"), std::tuple(0, 0, 1));
}

TEST_F(WaitCountsTest, TimeGoesUnderWhatIsWaitedForThen) {
  world_.limits.SetShut(true);
  world_.Ask("job:etl", "a", 90, kVeryLong);
  world_.RunTo(absl::Milliseconds(30));
  world_.limits.SetShut(false);
  world_.lines.Changed();
  world_.RunTo(absl::Milliseconds(200));
  const Sums sums = Collect();
  EXPECT_EQ(sums.at({"job:etl", engine::Reason::kHealth}),
            (Waits{.began = 1, .waited_ns = 30 * kMs, .held_ns = 30 * kMs}));
  EXPECT_EQ(sums.at({"job:etl", engine::Reason::kCapacity}), (Waits{.admitted = 1,
                                                                    .waited_ns = 60 * kMs,
                                                                    .held_ns = 60 * kMs,
                                                                    .longest_ns = 90 * kMs,
                                                                    .ended_within = {1}}));
}

// Three wait for 10, 20 and 30 ms: 60 in all, and for 30 there was one.
TEST_F(WaitCountsTest, HeldIsTheTimeInWhichAtLeastOneWaits) {
  for (int i = 0; i < 3; ++i) world_.Ask("job:etl", "a", 10, kVeryLong);
  world_.RunTo(absl::Milliseconds(100));
  const Waits waits = CollectOne();
  EXPECT_EQ(waits.waited_ns, 60 * kMs);
  EXPECT_EQ(waits.held_ns, 30 * kMs);
  EXPECT_EQ(waits.longest_ns, 30 * kMs);
}

// Nothing has happened in the line for long, so that nobody else has told it what time it is.
TEST_F(WaitCountsTest, WhoLeavesHasWaitedUntilThenAndLeavesNothingBehind) {
  const int64_t of_nobody = world_.lines.held_bytes();
  const uint64_t ticket = world_.Ask("job:etl", "a", 90, kVeryLong);
  world_.RunTo(absl::ZeroDuration());
  world_.now_ns += 50 * kMs;
  EXPECT_EQ(CollectOne().waited_ns, 50 * kMs);
  world_.now_ns += 7 * kMs;
  world_.Leave(ticket);
  const Waits left = CollectOne();
  EXPECT_EQ(left.left, 1);
  EXPECT_EQ(left.waited_ns, 7 * kMs);
  EXPECT_EQ(left.longest_ns, 57 * kMs);
  EXPECT_EQ(world_.lines.held_bytes(), of_nobody);
  world_.Ask("job:etl", "a", 90, kVeryLong);
  world_.now_ns += 10 * kMs;
  EXPECT_EQ(CollectOne().waited_ns, 10 * kMs);
}

// As its caller's clock may be read before a round and be told after it.
TEST_F(WaitCountsTest, WhoLeftBeforeTheLastRoundIsForgottenToo) {
  const uint64_t ticket = world_.Ask("job:etl", "a", 90, kVeryLong);
  const Now before = world_.now();
  world_.now_ns += 50 * kMs;
  EXPECT_EQ(CollectOne().waited_ns, 50 * kMs);
  world_.lines.Leave(ticket, before);
  EXPECT_EQ(CollectOne().left, 1);
  world_.Ask("job:etl", "a", 90, kVeryLong);
  world_.now_ns += 10 * kMs;
  EXPECT_EQ(CollectOne().waited_ns, 10 * kMs);
}

TEST_F(WaitCountsTest, ByAsManyChecksAsItTakesAtLeast) {
  EXPECT_EQ(Waits{}.checks(), 1);
  EXPECT_EQ((Waits{.began = 2, .waited_ns = 76, .longest_ns = 21}).checks(), 4);
  EXPECT_EQ((Waits{.began = 2, .admitted = 5, .waited_ns = 76, .longest_ns = 21}).checks(), 5);
}

TEST_F(WaitCountsTest, HistogramHasItsBounds) {
  Waits waits;
  for (const int64_t ms : {99, 100, 999, 1000, 9999, 10'000, 59'999, 60'000, 600'000}) {
    waits.CountEnd(WaitEnd::kAdmitted, true, ms * kMs);
  }
  EXPECT_THAT(waits.ended_within, ElementsAre(1, 2, 2, 2, 1, 1));
}

class FewWaitCountsTest : public WaitCountsTest {
 protected:
  FewWaitCountsTest() : WaitCountsTest({.max_waiting = 16, .max_waiting_share = 1}) {}
};

// As many are told apart as may wait three times over.
TEST_F(FewWaitCountsTest, BeyondTheMostSubjectsOthersAreCountedTogether) {
  for (int i = 0; i < 60; ++i) {
    world_.Leave(world_.Ask(absl::StrCat("job", i, ":etl"), "a", 50, kVeryLong));
  }
  const Sums sums = Collect();
  EXPECT_EQ(sums.size(), 49u);
  EXPECT_EQ(sums.at({"*", engine::Reason::kCapacity}).left, 12);
}

// Against what the lines know of each wait that has ended: to the nanosecond, whenever it is asked.
TEST_F(WaitCountsTest, AllRoundsAddUpToWhatWasWaited) {
  std::mt19937_64 random(33);
  const auto below = [&](uint64_t end) { return random() % end; };
  world_.limits.AddBucket("b", absl::Milliseconds(30));
  Waits all;
  std::vector<uint64_t> tickets;
  int64_t entered = 0;
  for (int i = 1; i <= 3000; ++i) {
    const std::string identity = absl::StrCat("job", below(7), ":etl");
    const char* const buckets = below(3) == 0 ? "a b" : below(2) == 0 ? "a" : "b";
    const auto cost = static_cast<double>(1 + below(20));
    tickets.push_back(world_.Ask(identity, buckets, cost, absl::Milliseconds(below(300))));
    if (tickets.back() != 0) ++entered;
    if (below(10) == 0) world_.Leave(tickets[below(tickets.size())]);
    if (below(50) == 0) {
      world_.limits.SetShut(below(2) == 0);
      world_.lines.Changed();
    }
    world_.RunTo(absl::Milliseconds(5 * i) + absl::Microseconds(below(1000)));
    if (below(20) == 0) {
      for (const auto& [key, waits] : Collect()) all.Add(waits);
    }
  }
  world_.limits.SetShut(false);
  world_.lines.Changed();
  world_.RunTo(absl::Seconds(60));
  for (const auto& [key, waits] : Collect()) all.Add(waits);
  const LineStats stats = world_.lines.ReadStats(world_.now());
  absl::Duration waited;
  for (const WaitTimes& times : stats.waits) waited += times.sum();
  EXPECT_EQ(all.waited_ns, absl::ToInt64Nanoseconds(waited));
  EXPECT_GT(all.waited_ns, 1'000'000'000);
  EXPECT_EQ(all.began, entered);
  EXPECT_EQ(static_cast<uint64_t>(all.admitted), stats.admitted());
  EXPECT_EQ(static_cast<uint64_t>(all.denied), stats.timed_out());
  EXPECT_EQ(static_cast<uint64_t>(all.left), stats.left());
  EXPECT_EQ(all.ended(), all.began);
  EXPECT_LE(all.held_ns, all.waited_ns);
}

}  // namespace
}  // namespace headgate::line
