// Refunds while others charge the same bucket: what a permit remembers fits the place that its
// charge got, or is on the safe side.

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/ledger.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/thread_load.h"

namespace headgate::engine {
namespace {

constexpr int64_t kNoRefusal = std::numeric_limits<int64_t>::max();
constexpr int64_t kCost = 1000;

Ledger::Charged ChargeBucket(Ledger& ledger, uint64_t tag) {
  const ChargeResult result = ledger.Charge(tag, 0, kCost, kNoRefusal);
  EXPECT_EQ(result.outcome, ChargeOutcome::kCharged);
  return {tag, result.empties_at, result.refunded_ns};
}

struct RaceResult {
  int64_t due = 0, granted = 0;
};

// One thread takes everything in front back while another one charges. Then time passes until half
// of what is left has drained, and the first ones behind ask for their refunds first: to them
// nothing is due.
RaceResult RaceOnce(size_t buckets, uint64_t tag, int permits) {
  RefundOrders orders(1024);
  Ledger ledger(
      {.clock = std::make_shared<VirtualClock>(0), .ns_per_unit = 1},
      Ledger::Layout{.buckets = buckets, .split = buckets == 0 ? "" : "depth 2", .version = 1},
      orders);
  std::vector<Ledger::Charged> front, back;
  for (int i = 0; i < permits; ++i) front.push_back(ChargeBucket(ledger, tag));
  std::atomic<int> ready{0};
  const auto meet = [&] {
    ready.fetch_add(1);
    while (ready.load() < 2) std::this_thread::yield();
  };
  std::thread other([&] {
    meet();
    for (int i = 0; i < permits; ++i) back.push_back(ChargeBucket(ledger, tag));
  });
  meet();
  for (const Ledger::Charged& charged : front) {
    EXPECT_EQ(ledger.Refund(charged, kCost, kCost, 0), kCost);
  }
  other.join();
  EXPECT_EQ(ledger.EmptiesAt(tag, 0), permits * kCost);
  RaceResult result;
  const int64_t now = permits * kCost / 2;
  for (int i = 0; i < permits; ++i) {
    const int64_t due = i < permits / 2 ? 0 : kCost;
    const int64_t granted = ledger.Refund(back[static_cast<size_t>(i)], kCost, kCost, now);
    EXPECT_LE(granted, due) << i;
    result.due += due;
    result.granted += granted;
  }
  return result;
}

TEST(RefundThreads, GiveChargesBehindWhatIsTheirsAndNoMore) {
  const int rounds = Scaled(200);
  RaceResult sum;
  for (int round = 0; round < rounds; ++round) {
    const bool split = round % 2 == 0;
    const RaceResult result = RaceOnce(split ? 64 : 0, split ? 12345 : Ledger::kSingleTag, 4096);
    sum.due += result.due;
    sum.granted += result.granted;
    if (HasFailure()) return;
  }
  // A charge within the nanoseconds of a refund does not know its order.
  EXPECT_GE(static_cast<double>(sum.granted), 0.9 * static_cast<double>(sum.due));
}

// Each Check of 3 is reported as 1, and that is what is owed in the end.
TEST(RefundThreads, OfManyPermitsLeaveWhatWasSpent) {
  BudgetSpec budget = RateBudget("b", 1, 1e9);
  budget.split = SplitByDepth{2};
  budget.max_buckets = 8;
  TestEngine engine(OneBudget(budget));
  const int checks = Scaled(50'000);
  ThreadLoad load;
  PerThread<double> spent;
  load.Run([&](int thread) {
    CheckAnswer answer;
    const std::string mine = "t" + std::to_string(thread) + ":etl";
    for (int i = 0; i < checks; ++i) {
      // A key for each thread and one for all, in eight cells: nobody is evicted.
      const bool shared = i % 3 == 0;
      ASSERT_TRUE(engine->Check(Request(shared ? "shared:etl" : mine, 3), At(), answer).ok());
      ASSERT_EQ(answer.verdict, Verdict::kAllowed);
      ASSERT_EQ(engine->Report(answer.permit, {.cost = 1}, At())->outcome, ReportOutcome::kSettled);
      if (shared) spent[thread] += 1;
    }
  });
  EXPECT_NEAR(engine.Debt("shared:etl", "b"), spent.Sum(), spent.Sum() * 0.02);
  EXPECT_GE(engine.Debt("shared:etl", "b"), spent.Sum() - 1e-3);
}

}  // namespace
}  // namespace headgate::engine
