// What benches of `rate: auto` on PostgreSQL have in common: a policy of one auto budget, and the
// server's own monitor and probe, which tell a Driver what they see of a database.
//
//   Require(engine.Install(AutoBatchPolicy(), clock.Read()));
//   monitor = WatchFor(driver, clock, server.SocketDsn("headgate"), {"batch"});

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/observe/health/monitor.h"
#include "server/observe/postgres/postgres_probe.h"
#include "tests/bench/control_driver.h"

namespace headgate {

inline engine::PolicySpec AutoBatchPolicy() {
  engine::PolicySpec policy;
  engine::BudgetSpec& budget = policy.budgets.emplace_back();
  budget.name = "batch";
  budget.rate = engine::AutoRate{};
  budget.burst = 0.1;
  budget.default_cost = 0.1;
  budget.max_concurrency = 10'000;
  engine::RuleSpec& rule = policy.rules.emplace_back();
  rule.name = "batch";
  rule.action = engine::ChargeAction{{"batch"}};
  return policy;
}

// Started. The driver and the clock outlive it.
inline std::unique_ptr<health::TargetMonitor> WatchFor(Driver& driver, Clock& clock,
                                                       const std::string& dsn,
                                                       std::vector<std::string> batch_roles) {
  health::MonitorSpec spec;
  spec.polling.timeout = absl::Seconds(2);
  health::MonitorProbes probes;
  probes.primary = std::make_unique<postgres::PostgresProbe>(
      postgres::PostgresProbeOptions{
          .dsn = [dsn]() -> absl::StatusOr<std::string> { return dsn; },
          .timeout = spec.polling.timeout,
          .batch_work = {.roles = std::move(batch_roles), .application_names = {}}},
      clock);
  auto monitor = std::make_unique<health::TargetMonitor>(
      spec, std::move(probes),
      health::MonitorOptions{.clock = &clock, .sink = &driver, .work = &driver, .seed = 1});
  driver.Watch(monitor->activity());
  monitor->Start();
  return monitor;
}

}  // namespace headgate
