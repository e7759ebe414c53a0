// What the benchmarks of the API decide, and how they count: Checks that are charged to four
// budgets under 10,000 rules, and the CPU time of this process.
//
//   if (absl::Status ready = Prepare(engine, clock); !ready.ok()) ...
//   const double before = CpuSeconds();

#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/observe/health/check_activity.h"
#include "server/serve/rpc/sources.h"

namespace headgate::bench {

inline constexpr int kLevels = 4;
inline constexpr size_t kRules = 10'000;

// As app::Targets, which hands each Check to the same book, but without its monitors: what they
// cost is not a Check's.
class MonitoredTarget final : public rpc::CheckListener {
 public:
  MonitoredTarget() {
    activity_->SetWaker([] {});
    book_.Set({{"main", activity_}});
  }
  void OnCheck(std::string_view target) override { book_.OnCheck(target); }
  void EndPoll() { activity_->Rearm(); }

 private:
  const std::shared_ptr<health::CheckActivity> activity_ =
      std::make_shared<health::CheckActivity>();
  health::CheckActivityBook book_;
};

// Four budgets, one for each level, that never refuse; a rule at each level, and others that match
// nothing here.
inline engine::PolicySpec Policy() {
  engine::PolicySpec spec;
  spec.profiles = {{.name = "default", .signals = {"replication_lag_seconds"}}};
  spec.targets = {{.name = "main", .capacity = std::nullopt, .default_health = "default"}};
  const char* const levels[kLevels] = {"online-ddl", "vreplication:online-ddl",
                                       "vcopier:vreplication:online-ddl", "online-ddl"};
  for (int depth = 1; depth <= kLevels; ++depth) {
    engine::BudgetSpec budget;
    budget.name = absl::StrCat("level-", depth);
    budget.rate = engine::UnitsPerSecond{1e9};
    budget.burst = 1e12;
    budget.split = engine::SplitByDepth{depth};
    spec.budgets.push_back(budget);
    engine::RuleSpec rule;
    rule.name = absl::StrCat("charge-", depth);
    rule.match.identity = levels[depth - 1];
    rule.action = engine::ChargeAction{{budget.name}};
    spec.rules.push_back(rule);
  }
  while (spec.rules.size() < kRules) {
    engine::RuleSpec rule;
    rule.name = absl::StrCat("other-", spec.rules.size());
    rule.match.identity = absl::StrCat("job-", spec.rules.size(), ":etl");
    rule.action = engine::ChargeAction{{"level-1"}};
    spec.rules.push_back(rule);
  }
  return spec;
}

inline absl::Status Prepare(engine::Engine& engine, Clock& clock) {
  absl::Status status = engine.Install(Policy(), clock.Read());
  if (!status.ok()) return status;
  return engine.SetHealth("main", "default",
                          {.speed = 1,
                           .status = engine::HealthStatus::kHealthy,
                           .sampled_at_ns = clock.Read().monotonic_ns},
                          clock.Read());
}

inline double CpuSeconds() {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace headgate::bench
