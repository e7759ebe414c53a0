// Identities without end: what an engine holds, what a known identity gets, and what a Check costs,
// are what they were before.
#include <malloc.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "tests/bench/instruction_counter.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

constexpr size_t kBuckets = 1024;

PolicySpec Split() {
  BudgetSpec budget = RateBudget("b", 10, 100);
  budget.split = SplitByDepth{2};
  budget.max_buckets = kBuckets;
  return OneBudget(std::move(budget));
}

// What the heap has handed out; nothing with sanitizers, which have a heap of their own.
size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class Flood {
 public:
  // So many new identities, one each 100 us.
  void Go(int count) {
    for (int i = 0; i < count; ++i) {
      identity_.clear();
      absl::StrAppend(&identity_, "run-", number_, ":job-", number_, ":etl");
      ++number_;
      now_ = now_ + absl::Microseconds(100);
      Ask(Request(identity_, 1));
    }
  }
  // Whether it was admitted; the permit is given back at once.
  bool Ask(const CheckRequest& request) {
    const absl::Status status = engine_->Check(request, now_, answer_);
    EXPECT_TRUE(status.ok()) << status;
    if (answer_.verdict != Verdict::kAllowed) return false;
    EXPECT_TRUE(engine_->Report(answer_.permit, {.cost = answer_.predicted_cost}, now_).ok());
    return true;
  }

  Now now() const { return now_; }
  TestEngine& engine() { return engine_; }

 private:
  TestEngine engine_{Split()};
  CheckAnswer answer_;
  std::string identity_;
  int64_t number_ = 0;
  Now now_ = At();
};

TEST(IdentityFlood, TakesNoMemory) {
  Flood flood;
  flood.Go(Scaled(5000));
  const size_t before = HeapBytes();
  flood.Go(Scaled(200'000));
  EXPECT_EQ(HeapBytes(), before);
  EXPECT_LE(flood.engine()->ReadStats(flood.now()).buckets_owing, kBuckets);
}

TEST(IdentityFlood, KnownIdentityGetsItsRateAndNoMore) {
  Flood flood;
  flood.Go(Scaled(5000));
  const Now began = flood.now();
  double admitted = 0;
  for (int i = 0; i < Scaled(20'000); ++i) {
    flood.Go(5);
    if (flood.Ask(Request("known:job:etl", 1))) ++admitted;
  }
  const double elapsed_s =
      1e-9 * static_cast<double>(flood.now().monotonic_ns - began.monotonic_ns);
  EXPECT_LE(admitted, 100 + 10 * elapsed_s);
  // Being evicted, it may inherit a stranger's debt, which is at most a unit or two here.
  EXPECT_GE(admitted, 0.9 * (100 + 10 * elapsed_s) - 1);
}

// Sanitizers do not bear a trap after each instruction.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(IdentityFlood, KnownIdentityIsDecidedAsFast) {
  Flood flood;
  const CheckRequest known = Request("known:job:etl", 1);
  const auto cost = [&] {
    flood.Ask(known);  // its bucket is there, and its thread's copy of the policy
    return CountInstructions([&] { flood.Ask(known); });
  };
  const uint64_t before = cost();
  flood.Go(Scaled(20'000));
  const uint64_t after = cost();
  EXPECT_LE(after, before + before / 2);
}
#endif

}  // namespace
}  // namespace headgate::engine
