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

}  // namespace headgate::snapshot
