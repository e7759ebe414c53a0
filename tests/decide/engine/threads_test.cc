// The invariant under threads, from both sides: no more is admitted than burst + rate x elapsed,
// and hardly less.

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/thread_load.h"

namespace headgate::engine {
namespace {

bool NamesBudget(const CheckAnswer& answer, std::string_view name) {
  for (size_t i = 0; i < answer.violations.size(); ++i) {
    if (BudgetOf(answer, i) == name) return true;
  }
  return false;
}

void ExpectDue(double admitted, double due) {
  EXPECT_LE(admitted, due + 0.01);
  EXPECT_GE(admitted, 0.99 * due);
}

// Each thread asks for its identity until `budget` has refused the first one `steps` times, 10 ms
// apart. Returns what each thread was admitted, at a cost of 1 each.
PerThread<double> Hammer(TestEngine& engine, ThreadLoad& load,
                         const std::array<std::string, ThreadLoad::kThreads>& identities,
                         std::string_view budget, int steps) {
  PerThread<double> admitted;
  load.Run([&](int thread) {
    CheckAnswer answer;
    int denied = 0;
    while (!load.done()) {
      const CheckRequest request = Request(identities[static_cast<size_t>(thread)], 1);
      const absl::Status status = engine->Check(request, load.now(), answer);
      ASSERT_TRUE(status.ok()) << status;
      if (answer.verdict == Verdict::kAllowed) {
        admitted[thread] += 1;
        continue;
      }
      if (thread != 0 || !NamesBudget(answer, budget)) {
        std::this_thread::yield();
        continue;
      }
      if (++denied == steps) return load.Finish();
      load.Advance(absl::Milliseconds(10));
    }
  });
  return admitted;
}

TEST(EngineThreads, OnOneIdentityAdmitAllThatIsDueAndNoMore) {
  TestEngine engine(OneBudget(RateBudget("b", 1000, 1000)), ShortPermits());
  ThreadLoad load;
  const double admitted =
      Hammer(engine, load, {"etl", "etl", "etl", "etl"}, "b", Scaled(200'000)).Sum();
  ExpectDue(admitted, 1000 + 1000 * load.elapsed_s());
}

TEST(EngineThreads, OnOneSplitBucketAdmitAllThatIsDueAndNoMore) {
  BudgetSpec budget = RateBudget("b", 1000, 1000);
  budget.split = SplitByDepth{2};
  TestEngine engine(OneBudget(budget), ShortPermits());
  ThreadLoad load;
  const double admitted =
      Hammer(engine, load, {"j:etl", "a:j:etl", "b:j:etl", "j:etl"}, "b", Scaled(200'000)).Sum();
  ExpectDue(admitted, 1000 + 1000 * load.elapsed_s());
}

TEST(EngineThreads, OnSharedUpperLevelsHoldTheLimitOfEveryLevel) {
  BudgetSpec leaf = RateBudget("leaf", 400, 400);
  leaf.split = SplitByDepth{3};
  TestEngine engine(
      Budgets({leaf, RateBudget("middle", 1000, 1000), RateBudget("root", 5000, 5000)}),
      ShortPermits());
  ThreadLoad load;
  PerThread<double> admitted =
      Hammer(engine, load, {"t0:job:etl", "t1:job:etl", "t2:job:etl", "t3:job:etl"}, "middle",
             Scaled(50'000));
  ExpectDue(admitted.Sum(), 1000 + 1000 * load.elapsed_s());
  for (int i = 0; i < ThreadLoad::kThreads; ++i) {
    EXPECT_LE(admitted[i], 400 + 400 * load.elapsed_s() + 0.01);
  }
}

TEST(EngineThreads, WithReportsAdmitAllThatIsDueAndNoMore) {
  TestEngine engine(OneBudget(RateBudget("b", 1000, 1000)));
  ThreadLoad load;
  PerThread<double> settled;
  const int steps = Scaled(200'000);
  load.Run([&](int thread) {
    CheckAnswer answer;
    int denied = 0;
    for (int i = 0; !load.done(); ++i) {
      ASSERT_TRUE(engine->Check(Request("etl", 1), load.now(), answer).ok());
      if (answer.verdict == Verdict::kAllowed) {
        // Half of them are refunded, half charged more. On average the estimates are right.
        const double actual = i % 2 == 0 ? 0.25 : 1.75;
        ASSERT_EQ(engine->Report(answer.permit, {.cost = actual}, load.now())->outcome,
                  ReportOutcome::kSettled);
        settled[thread] += actual;
      } else if (thread != 0) {
        std::this_thread::yield();
      } else if (++denied == steps) {
        load.Finish();
      } else {
        load.Advance(absl::Milliseconds(10));
      }
    }
  });
  const double due = 1000 + 1000 * load.elapsed_s();
  // Reports of the last Checks may drive the debt above the burst.
  EXPECT_LE(settled.Sum(), due + ThreadLoad::kThreads * 1.75 + 0.01);
  EXPECT_GE(settled.Sum(), 0.99 * due);
}

TEST(EngineThreads, RotatingIdentitiesThroughATinyTableHoldEachLimit) {
  constexpr size_t kIdentities = 48;
  BudgetSpec budget = RateBudget("b", 10, 50);
  budget.split = SplitByDepth{2};
  budget.max_buckets = 8;
  TestEngine engine(OneBudget(budget), ShortPermits());
  std::vector<std::string> names;
  for (size_t i = 0; i < kIdentities; ++i) names.push_back("j" + std::to_string(i) + ":etl");
  std::array<std::array<double, kIdentities>, ThreadLoad::kThreads> admitted{};
  const int checks = Scaled(1'000'000);
  ThreadLoad load;
  load.Run([&](int thread) {
    CheckAnswer answer;
    for (int i = 0; i < checks; ++i) {
      const auto which =
          (static_cast<size_t>(i) * static_cast<size_t>(2 * thread + 1)) % kIdentities;
      ASSERT_TRUE(engine->Check(Request(names[which], 1), load.now(), answer).ok());
      if (answer.verdict == Verdict::kAllowed) {
        admitted[static_cast<size_t>(thread)][which] += 1;
      }
      if (thread == 0 && i % 16 == 0) load.Advance(absl::Milliseconds(5));
    }
  });
  double total = 0;
  for (size_t i = 0; i < kIdentities; ++i) {
    double sum = 0;
    for (const auto& of_thread : admitted) sum += of_thread[i];
    EXPECT_LE(sum, 50 + 10 * load.elapsed_s() + 0.01);
    total += sum;
  }
  EXPECT_GT(engine->ReadStats(load.now()).live_evictions, 0U);
  EXPECT_GT(total, 10 * load.elapsed_s());
}

TEST(EngineThreads, NeverExceedAConcurrencyLimit) {
  constexpr int kLimit = 3;
  TestEngine engine(OneBudget(ConcurrencyBudget("b", kLimit)));
  const int checks = Scaled(1'000'000);
  std::atomic<int> outstanding{0};
  PerThread<int> most;
  PerThread<int> refused;
  ThreadLoad load;
  load.Run([&](int thread) {
    CheckAnswer answer;
    for (int i = 0; i < checks; ++i) {
      ASSERT_TRUE(engine->Check(Request("etl", 1), At(), answer).ok());
      if (answer.verdict != Verdict::kAllowed) {
        refused[thread] += 1;
        continue;
      }
      most[thread] = std::max(most[thread], outstanding.fetch_add(1) + 1);
      if (i % 64 == 0) std::this_thread::yield();
      outstanding.fetch_sub(1);
      ASSERT_TRUE(engine->Report(answer.permit, {.cost = 1}, At()).ok());
    }
  });
  for (int i = 0; i < ThreadLoad::kThreads; ++i) EXPECT_LE(most[i], kLimit);
  EXPECT_EQ(engine.Bucket(Request("etl", 1), "b").outstanding, 0);
  for (int i = 0; i < kLimit; ++i) EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1));
}

// Permits that hold no concurrency give way; to lose a race for one is no reason to refuse.
TEST(EngineThreads, WithAFullTableOfPlainPermitsAreNeverRefused) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 1e9)));  // 1024 permits
  const int checks = Scaled(200'000);
  PerThread<int> errors;
  ThreadLoad load;
  load.Run([&](int thread) {
    CheckAnswer answer;
    for (int i = 0; i < checks; ++i) {
      errors[thread] += !engine->Check(Request("etl", 1), At(), answer).ok();
    }
  });
  EXPECT_EQ(errors.Sum(), 0);
}

TEST(EngineThreads, RacingForARequestIdAreChargedOnce) {
  EngineOptions options = TestEngine::Options();
  options.max_permits = size_t{1} << 15;
  constexpr size_t kRequests = 2000;
  const int rounds = Scaled(20);
  for (int round = 0; round < rounds; ++round) {
    TestEngine engine(OneBudget(RateBudget("b", 1, 1e6)), options);
    std::array<std::vector<PermitId>, ThreadLoad::kThreads> permits;
    ThreadLoad load;
    load.Run([&](int thread) {
      CheckAnswer answer;
      for (size_t i = 0; i < kRequests; ++i) {
        const std::string id = std::to_string(i);
        ASSERT_TRUE(
            engine->Check({.identity = "etl", .estimated_cost = 1, .request_id = id}, At(), answer)
                .ok());
        permits[static_cast<size_t>(thread)].push_back(answer.permit);
      }
    });
    for (int thread = 1; thread < ThreadLoad::kThreads; ++thread) {
      EXPECT_EQ(permits[static_cast<size_t>(thread)], permits[0]);
    }
    EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), kRequests);
  }
}

TEST(EngineThreads, ReportingOnePermitSettleItOnce) {
  TestEngine engine(Budgets({RateBudget("rate", 1, 1e9), ConcurrencyBudget("jobs", 1)}));
  const int rounds = Scaled(200);
  std::atomic<int> turn{0};
  std::atomic<PermitId> permit{0};
  PerThread<int> settled;
  ThreadLoad load;
  load.Run([&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      if (thread == 0) permit.store(engine.Check("etl", 0).permit);
      turn.fetch_add(1);
      while (turn.load() < (2 * round + 1) * ThreadLoad::kThreads) std::this_thread::yield();
      const auto outcome = engine->Report(permit.load(), {.cost = 1}, At());
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      settled[thread] += outcome->outcome == ReportOutcome::kSettled;
      turn.fetch_add(1);
      while (turn.load() < (2 * round + 2) * ThreadLoad::kThreads) std::this_thread::yield();
    }
  });
  EXPECT_EQ(settled.Sum(), rounds);
  EXPECT_NEAR(engine.Debt("etl", "rate"), rounds, 1e-3);
}

}  // namespace
}  // namespace headgate::engine
