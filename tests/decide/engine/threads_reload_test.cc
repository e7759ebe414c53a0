// Policies and speeds that change while threads check: the invariant holds, and every answer comes
// from a whole policy.

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

// What the first thread changes, and what is due under all that was in force.
struct Changes {
  PolicySpec (*policy)(double rate);
  double due = 1000;  // the burst
  double rate = 1000;
  double speed = 1;

  // One step of 2 ms, at most 8 units, then perhaps another rate or speed.
  void Step(TestEngine& engine, ThreadLoad& load, int step) {
    due += 0.002 * rate * speed;
    load.Advance(absl::Milliseconds(2));
    if (step % 20 == 0) {
      rate = std::array<double, 3>{1000, 250, 4000}[static_cast<size_t>(step / 20) % 3];
      engine.Install(policy(rate), load.now());
    }
    if (step % 30 == 0) {
      speed = std::array<double, 3>{0.25, 1, 0.5}[static_cast<size_t>(step / 30) % 3];
      engine.SetHealth("p", {.speed = speed}, load.now());
    }
  }
};

double Hammer(TestEngine& engine, Changes& changes, int steps,
              const std::array<std::string, ThreadLoad::kThreads>& identities) {
  ThreadLoad load;
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
      } else if (thread != 0) {
        std::this_thread::yield();
      } else if (++denied == steps) {
        load.Finish();
      } else {
        changes.Step(engine, load, denied);
      }
    }
  });
  return admitted.Sum();
}

PolicySpec WholeBudget(double rate) {
  PolicySpec spec = OneBudget(RateBudget("b", rate, 1000));
  spec.budgets[0].health = "p";
  spec.profiles = {{.name = "p", .signals = {}}};
  return spec;
}

PolicySpec TwoLevels(double rate) {
  BudgetSpec leaf = RateBudget("leaf", 10 * rate, 100'000);
  leaf.split = SplitByDepth{2};
  leaf.max_buckets = 64;
  leaf.health = "p";
  PolicySpec spec = WholeBudget(rate);
  spec.budgets.push_back(leaf);
  spec.rules.push_back(ChargeRule("leaf", "job:etl", {"leaf"}));
  for (int i = 0; i < ThreadLoad::kThreads; ++i) {
    spec.rules.push_back(
        ChargeRule("leaf " + std::to_string(i), "t" + std::to_string(i) + ":etl", {"leaf"}));
  }
  return spec;
}

TEST(EngineReloadThreads, ChangingRatesAndSpeedsAdmitAllThatIsDueAndNoMore) {
  TestEngine engine(WholeBudget(1000), ShortPermits());
  Changes changes{.policy = WholeBudget};
  const double admitted = Hammer(engine, changes, Scaled(400'000), {"etl", "etl", "etl", "etl"});
  EXPECT_LE(admitted, changes.due + 0.01);
  EXPECT_GE(admitted, 0.99 * changes.due);
}

TEST(EngineReloadThreads, ChangingRatesOfSeveralLevelsAdmitAllThatIsDueAndNoMore) {
  TestEngine engine(TwoLevels(1000), ShortPermits());
  Changes changes{.policy = TwoLevels};
  const double admitted =
      Hammer(engine, changes, Scaled(400'000), {"t0:etl", "t1:etl", "t2:etl", "t3:etl"});
  EXPECT_LE(admitted, changes.due + 0.01);
  EXPECT_GE(admitted, 0.99 * changes.due);
}

// Reports come a while after their Checks, often across a reload.
TEST(EngineReloadThreads, RefundsAcrossReloadsNeverGiveBackTooMuch) {
  TestEngine engine(WholeBudget(1000));
  Changes changes{.policy = WholeBudget};
  ThreadLoad load;
  PerThread<double> settled;
  const int steps = Scaled(200'000);
  load.Run([&](int thread) {
    std::array<CheckAnswer, 8> answers;
    int denied = 0;
    while (!load.done()) {
      for (CheckAnswer& answer : answers) {
        ASSERT_TRUE(engine->Check(Request("etl", 1), load.now(), answer).ok());
      }
      for (size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].verdict != Verdict::kAllowed) continue;
        const double actual = i % 2 == 0 ? 0.25 : 1.75;
        ASSERT_EQ(engine->Report(answers[i].permit, {.cost = actual}, load.now())->outcome,
                  ReportOutcome::kSettled);
        settled[thread] += actual;
      }
      if (answers.back().verdict == Verdict::kAllowed) continue;
      if (thread != 0) {
        std::this_thread::yield();
      } else if (++denied == steps) {
        load.Finish();
      } else {
        changes.Step(engine, load, denied);
      }
    }
  });
  EXPECT_LE(settled.Sum(), changes.due + ThreadLoad::kThreads * 8 * 1.75);
  EXPECT_GE(settled.Sum(), 0.98 * changes.due);
}

// Of policy "A" every budget's name starts with A, and it has two; of "B" three.
PolicySpec Lettered(char letter, int budgets) {
  std::vector<BudgetSpec> specs;
  for (int i = 0; i < budgets; ++i) {
    specs.push_back(MaxCostBudget(std::string(1, letter) + std::to_string(i), 1));
  }
  return Budgets(std::move(specs));
}

TEST(EngineReloadThreads, EveryAnswerComesFromAWholePolicy) {
  TestEngine engine(Lettered('A', 2));
  ThreadLoad load;
  const int installs = Scaled(20'000);
  load.Run([&](int thread) {
    CheckAnswer answer;
    for (int i = 1; thread == 0 && i <= installs; ++i) {
      engine.Install(i % 2 == 0 ? Lettered('A', 2) : Lettered('B', 3));
      for (int check = 0; check < 20; ++check) engine.Check("etl", 2);
    }
    if (thread == 0) return load.Finish();
    while (!load.done()) {
      ASSERT_TRUE(engine->Check(Request("etl", 2), At(), answer).ok());
      ASSERT_EQ(answer.verdict, Verdict::kDenied);
      const char letter = BudgetOf(answer, 0)[0];
      ASSERT_EQ(answer.violations.size(), letter == 'A' ? 2U : 3U);
      for (size_t i = 0; i < answer.violations.size(); ++i) {
        ASSERT_EQ(BudgetOf(answer, i)[0], letter);
      }
    }
  });
}

TEST(EngineReloadThreads, EverythingMayRunAtOnce) {
  TestEngine engine(TwoLevels(1000));
  ThreadLoad load;
  const int rounds = Scaled(10'000);
  load.Run([&](int thread) {
    CheckAnswer answer;
    for (int i = 0; thread == 0 && i < rounds; ++i) {
      engine.Install(i % 3 == 0 ? PolicySpec{} : TwoLevels(i % 2 == 0 ? 500 : 1000), load.now());
      engine->SetHealth("", "p", {.speed = 0.5}, load.now()).IgnoreError();
      load.Advance(absl::Milliseconds(1));
      engine->ReadStats(load.now());
    }
    if (thread == 0) return load.Finish();
    for (int i = 0; !load.done(); ++i) {
      const std::string id = std::to_string(i);
      const CheckRequest request = {.identity = "t1:etl",
                                    .estimated_cost = 1,
                                    .pattern = "q",
                                    .request_id = i % 4 == 0 ? id : std::string_view()};
      ASSERT_TRUE(engine->Check(request, load.now(), answer).ok());
      ASSERT_FALSE(answer.Sentence().empty());
      if (answer.permit != 0) {
        ASSERT_TRUE(engine->Report(answer.permit, {.cost = 1}, load.now()).ok());
      }
      if (i % 8 == 0) {
        ASSERT_TRUE(engine->Explain(Request("t1:etl", 1), load.now()).ok());
      }
    }
  });
}

}  // namespace
}  // namespace headgate::engine
