// An engine that has something of everything that is saved.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/testing/engine_fixture.h"

namespace headgate::snapshot {

inline engine::PolicySpec BusyPolicy() {
  engine::BudgetSpec split = engine::RateBudget("split", 10, 1000);
  split.split = engine::SplitByDepth{8};
  split.max_buckets = 16;
  engine::BudgetSpec warns = engine::RateBudget("warns", 1, 5);
  warns.mode = engine::Mode::kWarn;
  engine::PolicySpec spec =
      engine::Budgets({engine::RateBudget("whole", 10, 1000), std::move(split), std::move(warns),
                       engine::ConcurrencyBudget("places", 50)});
  spec.profiles = {{.name = "lag", .signals = {"replication_lag_seconds"}}};
  spec.targets = {{.name = "orders", .capacity = {}, .default_health = "lag"}};
  return spec;
}

inline engine::EngineOptions SmallOptions() {
  engine::EngineOptions options;
  options.seed = 7;
  options.max_permits = 64;
  options.max_patterns = 64;
  return options;
}

// Permits, some reported; debts; a learnt cost; answers to repeat, one of them with a warning; and
// what a controller learnt.
inline std::unique_ptr<engine::Engine> BusyEngine() {
  auto engine = std::make_unique<engine::Engine>(SmallOptions());
  EXPECT_TRUE(engine->Install(BusyPolicy(), engine::At()).ok());
  EXPECT_TRUE(engine->SetHealth("orders", "lag", {.speed = 0.5, .signal = 0}, engine::At()).ok());
  EXPECT_TRUE(engine->SetLearntControl("orders", "learnt", 0).ok());
  engine::CheckAnswer answer;
  for (int i = 0; i < 12; ++i) {
    const std::string identity = "job-" + std::to_string(i) + ":etl";
    const std::string id = "request " + std::to_string(i);
    engine::CheckRequest request = engine::Request(identity, i + 1);
    request.pattern = "insert";
    request.request_id = id;
    EXPECT_TRUE(engine->Check(request, engine::At(), answer).ok());
    EXPECT_EQ(answer.verdict, engine::Verdict::kAllowed);
    if (i % 3 != 0) continue;
    EXPECT_TRUE(engine->Report(answer.permit, {.cost = 2}, engine::At()).ok());
  }
  return engine;
}

inline engine::SafeReservation SomeReservation() {
  return {.target_key = 1,
          .subject_key = 2,
          .policy_version = 3,
          .rate = 4.5,
          .charged = 5.5,
          .charged_until_ns = 6,
          .until_ns = 8,
          .charges = {{.bucket = 9,
                       .tag = 10,
                       .ledger = 1,
                       .per_unit = 12.5,
                       .unit = engine::BudgetUnit::kBusyTime}}};
}
// Permit 7's.
inline void ExpectSomeReservation(const engine::SavedSafeRate& saved) {
  const engine::SafeReservation& read = saved.reservation;
  EXPECT_EQ(saved.permit, 7U);
  EXPECT_EQ(read.target_key, 1U);
  EXPECT_EQ(read.subject_key, 2U);
  EXPECT_EQ(read.policy_version, 3U);
  EXPECT_EQ(read.rate, 4.5);
  EXPECT_EQ(read.charged, 5.5);
  EXPECT_EQ(read.charged_until_ns, 6);
  EXPECT_EQ(read.until_ns, 8);
  ASSERT_EQ(read.charges.size(), 1U);
  EXPECT_EQ(read.charges[0].bucket, 9U);
  EXPECT_EQ(read.charges[0].tag, 10U);
  EXPECT_EQ(read.charges[0].ledger, 1U);
  EXPECT_EQ(read.charges[0].per_unit, 12.5);
  EXPECT_EQ(read.charges[0].unit, engine::BudgetUnit::kBusyTime);
}

}  // namespace headgate::snapshot
