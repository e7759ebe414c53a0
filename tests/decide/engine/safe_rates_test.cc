// Safe rates: what is reserved for holders that can reach nobody, and charged when nobody hears of
// them.

#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using ::testing::StartsWith;

struct SafelyAsked {
  std::string_view identity = "job:etl";
  double amount = 10;
  double wanted = 1000;
  absl::Duration safe_time = absl::Seconds(10);
};

CheckAnswer AskSafely(TestEngine& engine, const SafelyAsked& asked = {}, Now now = At()) {
  const LeaseTerms terms{.least = 1,
                         .life = absl::Seconds(1),
                         .safe_rate = asked.wanted,
                         .safe_life = asked.safe_time};
  return engine.Check({.identity = asked.identity, .estimated_cost = asked.amount, .lease = &terms},
                      now);
}

ActualCost SpentSafely(double estimate, double safe = 0) {
  return {.spent = ActualCost::Spent{.estimate = estimate, .pieces = 1, .safe_estimate = safe}};
}

// 100 a second, and 200 at once.
PolicySpec HundredASecond() { return OneBudget(RateBudget("b", 100, 200)); }

TEST(SafeRates, AreWhatIsAskedForWhereThatIsFree) {
  TestEngine engine(HundredASecond());
  const CheckAnswer answer = AskSafely(engine, {.wanted = 7});
  EXPECT_EQ(answer.grant.safe_rate, 7);
  EXPECT_EQ(answer.grant.safe_time, absl::Seconds(10));
  EXPECT_EQ(AskSafely(engine, {.wanted = 0}).grant.safe_rate, 0);
  EXPECT_EQ(AskSafely(engine, {.safe_time = absl::ZeroDuration()}).grant.safe_rate, 0);
}

TEST(SafeRates, OfAllHoldersAreNoMoreThanDrains) {
  TestEngine engine(HundredASecond());
  double sum = 0;
  for (int i = 0; i < 20; ++i) {
    sum += AskSafely(engine, {.identity = absl::StrCat("job-", i, ":etl"), .amount = 1})
               .grant.safe_rate;
  }
  EXPECT_LE(sum, 100);
  EXPECT_GT(sum, 99);
}

TEST(SafeRates, BecomeEqualAsLeasesFollowEachOther) {
  TestEngine engine(HundredASecond());
  constexpr int kHolders = 4;
  std::vector<CheckAnswer> held(kHolders);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < kHolders; ++i) {
      if (round > 0) engine.Settle(held[i].permit, SpentSafely(1));
      held[i] = AskSafely(engine, {.identity = absl::StrCat("job-", i, ":etl"), .amount = 1});
    }
  }
  for (const CheckAnswer& one : held) EXPECT_NEAR(one.grant.safe_rate, 100.0 / 5, 0.1);
}

TEST(SafeRates, CostNothingWhileTheirHoldersAreHeardOf) {
  TestEngine engine(HundredASecond());
  const CheckAnswer answer = AskSafely(engine);
  const Now later = At(absl::Seconds(1) + absl::Milliseconds(249));
  engine.Settle(answer.permit, SpentSafely(10), later);
  EXPECT_EQ(engine.Debt("job:etl", "b", At(absl::Seconds(5))), 0);
}

TEST(SafeRates, AreChargedInAdvanceWhileNobodyIsHeardOf) {
  TestEngine engine(HundredASecond());
  ASSERT_EQ(AskSafely(engine).grant.safe_rate, 50);
  // From a quarter of the lease's time after its end.
  EXPECT_EQ(engine.Debt("job:etl", "b", At(absl::Milliseconds(1249))), 0);
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(1250))), 2.5, 1e-6);
  // Half of what drains is charged: nothing is left of it but what is charged in advance.
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(2250))), 0, 2.5);
  // Until its time is over.
  EXPECT_EQ(engine.Debt("job:etl", "b", At(absl::Seconds(12))), 0);
}

// What a Check finds must not depend on whether others asked in between.
TEST(SafeRates, AreChargedAsOfWhenTheyWereDue) {
  for (const bool asks_in_between : {false, true}) {
    TestEngine engine(OneBudget(RateBudget("b", 100, 1000)));
    ASSERT_EQ(AskSafely(engine).grant.safe_rate, 50);
    ASSERT_TRUE(engine.Admits("other:etl", 900, At(absl::Milliseconds(1249))));
    for (int ms = 1260; asks_in_between && ms < 5000; ms += 37) {
      engine.Debt("job:etl", "b", At(absl::Milliseconds(ms)));
    }
    // 900 were owed; of the 100 that drained in each second, 50 were charged again.
    EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(5249))), 700, 3)
        << asks_in_between;
  }
}

TEST(SafeRates, LeaveRoomForWhatTheHolderMaySpendMeanwhile) {
  TestEngine engine(HundredASecond());
  ASSERT_EQ(AskSafely(engine, {.amount = 200}).grant.safe_rate, 50);
  double admitted = 0;
  // From when all that was owed has drained, until the safe time is over.
  for (int ms = 2000; ms <= 11'000; ms += 10) {
    while (engine.Admits("other:etl", 1, At(absl::Milliseconds(ms)))) ++admitted;
  }
  // A burst, less what was charged since 250 ms after the lease's end, and then the other half.
  EXPECT_NEAR(admitted, 200 - 0.8 * 50 + 9 * 50, 3);
}

TEST(SafeRates, EndWhenTheirLeaseIsReturnedAndAreNotGivenBack) {
  TestEngine engine(OneBudget(RateBudget("b", 100, 1000)));
  const CheckAnswer answer = AskSafely(engine, {.amount = 1000});
  ASSERT_EQ(answer.grant.safe_rate, 50);
  ASSERT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(2250))), 1000 - 175, 3);
  engine.Settle(answer.permit, SpentSafely(1000, 50), At(absl::Milliseconds(2250)));
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(2250))), 1000 - 175, 3);
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(3250))), 1000 - 275, 3);
}

// As holders do that come back when nobody has answered for all of the safe time.
TEST(SafeRates, HavePaidForWhatIsToldWhenTheirTimeIsOver) {
  TestEngine engine(OneBudget(RateBudget("b", 100, 2000)));
  const CheckAnswer answer = AskSafely(engine, {.amount = 2000});
  ASSERT_EQ(answer.grant.safe_rate, 50);
  const Now later = At(absl::Seconds(15));
  const double debt = engine.Debt("job:etl", "b", later);
  EXPECT_NEAR(debt, 2000 - 1500 + 487.5, 3);
  engine.Settle(answer.permit, SpentSafely(2000, 487), later);
  EXPECT_EQ(engine.Debt("job:etl", "b", later), debt);
  // What was reserved is free.
  EXPECT_EQ(AskSafely(engine, {.amount = 1}, later).grant.safe_rate, 50);
}

TEST(SafeRates, OfALeaseOfNextToNothingAreNoneThatCannotBeSaved) {
  BudgetSpec busy = RateBudget("busy", 1, 10);
  busy.unit = BudgetUnit::kBusyTime;
  busy.default_cost = 0.05;
  TestEngine engine(OneBudget(busy));
  const LeaseTerms terms{
      .least = 1e-20, .life = absl::Seconds(1), .safe_rate = 1, .safe_life = absl::Seconds(10)};
  engine.Check({.identity = "job:etl", .estimated_cost = 1e-20, .lease = &terms});
  SavedState state;
  engine->Save(At(), state);
  EXPECT_EQ(Validate(state), absl::OkStatus());
}

TEST(SafeRates, DoNotPayForMoreThanWasCharged) {
  TestEngine engine(OneBudget(RateBudget("b", 100, 1000)));
  const CheckAnswer answer = AskSafely(engine, {.amount = 1000});
  ASSERT_EQ(answer.grant.safe_rate, 50);
  engine.Debt("job:etl", "b", At(absl::Milliseconds(2250)));
  // 52.5 were charged.
  engine.Settle(answer.permit, SpentSafely(1000, 152.5), At(absl::Milliseconds(2250)));
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(2250))), 1000 - 72.5, 3);
}

TEST(SafeRates, AreNoneWhereBudgetsCannotBearThem) {
  BudgetSpec places = RateBudget("b", 100, 200);
  places.max_concurrency = 3;
  TestEngine with_places(OneBudget(places));
  EXPECT_EQ(AskSafely(with_places).grant.safe_rate, 0);
  BudgetSpec warns = RateBudget("b", 1, 200);
  warns.mode = Mode::kWarn;
  TestEngine warned(OneBudget(warns));
  EXPECT_EQ(AskSafely(warned).grant.safe_rate, 1000);
}

TEST(SafeRates, OfARepeatedAskAreToldAgain) {
  TestEngine engine(HundredASecond());
  const LeaseTerms terms{
      .least = 1, .life = absl::Seconds(1), .safe_rate = 7, .safe_life = absl::Seconds(10)};
  const CheckRequest request{
      .identity = "job:etl", .estimated_cost = 10, .request_id = "one", .lease = &terms};
  engine.Check(request);
  const CheckAnswer again = engine.Check(request, At(absl::Milliseconds(100)));
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.grant.safe_rate, 7);
  EXPECT_EQ(again.grant.safe_time, absl::Seconds(10));
}

// As if there had been no restart: a holder may have gone on meanwhile.
TEST(SafeRates, GoOnAfterARestart) {
  TestEngine before(OneBudget(RateBudget("b", 100, 1000)));
  const CheckAnswer answer = AskSafely(before, {.amount = 1000});
  ASSERT_EQ(answer.grant.safe_rate, 50);
  SavedState state;
  before->Save(At(absl::Milliseconds(1500)), state);
  EXPECT_EQ(Validate(state), absl::OkStatus());
  Engine after(TestEngine::Options());
  const Now later = At(absl::Milliseconds(4250));
  ASSERT_TRUE(after.Restore(state, later, absl::ToInt64Nanoseconds(absl::Milliseconds(2750))).ok());
  ASSERT_TRUE(after.Install(OneBudget(RateBudget("b", 100, 1000)), later).ok());
  const auto debt = [&](Now now) {
    return after.Explain(Request("job:etl", 0), now)->buckets[0].debt;
  };
  EXPECT_NEAR(debt(later), 1000 - 425 + 150, 3);
  ASSERT_TRUE(after.Report(answer.permit, SpentSafely(1000, 150), later).ok());
  EXPECT_NEAR(debt(later + absl::Seconds(1)), 1000 - 525 + 150, 3);
}

TEST(SafeRates, GoToTheNewOwnerOfTheirTarget) {
  PolicySpec policy = OneBudget(RateBudget("b", 100, 1000));
  policy.targets = {{.name = "orders", .capacity = {}, .default_health = {}}};
  TestEngine from(policy);
  TestEngine to(policy);
  const CheckAnswer answer = AskSafely(from, {.amount = 1000});
  ASSERT_EQ(answer.grant.safe_rate, 50);
  const std::vector<std::string> targets = {"orders"};
  const auto saved = from->SaveTargets(targets, At(absl::Milliseconds(250)));
  ASSERT_EQ(to->AdoptTarget("orders", &*saved[0], Unsaved::kNothing, At(absl::Milliseconds(250))),
            absl::OkStatus());
  EXPECT_NEAR(to.Debt("job:etl", "b", At(absl::Milliseconds(2250))), 1000 - 225 + 50, 3);
  to.Settle(answer.permit, SpentSafely(1000, 50), At(absl::Milliseconds(2250)));
  EXPECT_NEAR(to.Debt("job:etl", "b", At(absl::Milliseconds(3250))), 1000 - 325 + 50, 3);
}

TEST(SafeRates, AreLeftAloneByAReloadThatKeepsTheBudget) {
  TestEngine engine(OneBudget(RateBudget("b", 100, 1000)));
  ASSERT_EQ(AskSafely(engine, {.amount = 1000}).grant.safe_rate, 50);
  engine.Install(OneBudget(RateBudget("b", 200, 1000)), At(absl::Milliseconds(1250)));
  // 52.5 at once; the rate drains twice as fast now.
  EXPECT_NEAR(engine.Debt("job:etl", "b", At(absl::Milliseconds(2250))), 1000 - 125 - 200 + 52.5,
              3);
  engine.Install(OneBudget(RateBudget("other", 1, 1000)), At(absl::Milliseconds(2250)));
  EXPECT_EQ(engine.Debt("job:etl", "other", At(absl::Milliseconds(3250))), 0);
}

// Threads that ask, return and charge at once leave nothing reserved.
TEST(SafeRates, OfManyThreadsComeFreeAgain) {
  TestEngine engine(OneBudget(RateBudget("b", 1e6, 1e6)));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&engine, i] {
      const std::string identity = absl::StrCat("job-", i, ":etl");
      for (int round = 0; round < 500; ++round) {
        const Now now = At(absl::Milliseconds(10 * round));
        const CheckAnswer answer = AskSafely(engine, {.identity = identity}, now);
        // Another thread's clock may be ahead.
        if (answer.permit != 0)
          engine.Settle(answer.permit, SpentSafely(1), now + absl::Seconds(2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(AskSafely(engine, {.wanted = 1e6}, At(absl::Seconds(20))).grant.safe_rate, 5e5);
}

TEST(SafeRates, ThatCannotBeAreRefusedByName) {
  TestEngine engine(HundredASecond());
  for (const auto& [rate, time, field] : {std::tuple(-1.0, absl::Seconds(1), "lease.safe_rate"),
                                          std::tuple(1e300, absl::Seconds(1), "lease.safe_rate"),
                                          std::tuple(1.0, absl::Seconds(61), "lease.safe_time"),
                                          std::tuple(1.0, -absl::Seconds(1), "lease.safe_time")}) {
    const LeaseTerms terms{
        .least = 1, .life = absl::Seconds(1), .safe_rate = rate, .safe_life = time};
    CheckAnswer answer;
    const absl::Status status =
        engine->Check({.identity = "job:etl", .estimated_cost = 1, .lease = &terms}, At(), answer);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), StartsWith(field));
  }
}

}  // namespace
}  // namespace headgate::engine
