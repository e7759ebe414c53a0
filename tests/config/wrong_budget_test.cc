// Budgets that make no sense.

#include "gtest/gtest.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

const WrongCase kWrongBudgets[] = {
    {"RateWithoutBurst", R"y(
budgets:
  - name: b
    rate: 5
)y",
     R"e(
f.yaml:3:11: budget 'b': has a rate but no burst, so it would refuse nothing; add a burst
)e"},
    {"BurstWithoutRate", R"y(
budgets:
  - name: b
    burst: 5
)y",
     R"e(
f.yaml:3:12: budget 'b': has a burst but no rate: without one debt drains at once; add a rate, or use max_cost
)e"},
    {"UnitsThatCannotBe", R"y(
targets:
  - {name: t, capacity: 100}
budgets:
  - name: a
    rate: 20%
    burst: 5
    unit: BUSY_TIME
  - name: b
    rate: 1
    burst: 5
    max_overrun: 0.5
)y",
     R"e(
f.yaml:7:11: budget 'a': unit cannot be BUSY_TIME where the rate is a share of a capacity in cost units: give the rate in busy seconds a second
f.yaml:11:18: budget 'b': max_overrun must be 1 to 1e+06; it is 0.5
)e"},
    {"MaxDebtOutOfRange", R"y(
budgets:
  - {name: a, max_debt: 0s}
  - {name: b, max_debt: 999ms}
  - {name: c, max_debt: 25h}
  - {name: d, max_debt: -5s}
  - {name: e, max_debt: 60}
)y",
     R"e(
f.yaml:2:25: budget 'a': max_debt must be 1s to 24h; it is 0
f.yaml:3:25: budget 'b': max_debt must be 1s to 24h; it is 999ms
f.yaml:4:25: budget 'c': max_debt must be 1s to 24h; it is 25h
f.yaml:5:25: max_debt: expected a duration of 0s or more, got '-5s'
f.yaml:6:25: max_debt: a duration needs a unit: write 60s for seconds, or use ns, us, ms, m or h
)e"},
    {"NegativeNumbers", R"y(
budgets:
  - name: b
    rate: -1
    burst: -1
    max_cost: -1
    default_cost: -1
    max_concurrency: -1
    max_buckets: 0
)y",
     R"e(
f.yaml:3:11: budget 'b': rate must be a finite number, 0 or more; it is -1
f.yaml:4:12: budget 'b': burst must be a finite number, 0 or more; it is -1
f.yaml:5:15: budget 'b': max_cost must be a finite number, 0 or more; it is -1
f.yaml:6:19: budget 'b': default_cost must be a finite number, 0 or more; it is -1
f.yaml:7:22: budget 'b': max_concurrency must be 0 to 65535; it is -1
f.yaml:8:18: budget 'b': max_buckets must be 1 to 268435456; it is 0
)e"},
    {"NumbersTooLarge", R"y(
budgets:
  - name: b
    rate: 1e16
    burst: 1e16
    max_concurrency: 65536
    max_buckets: 268435457
    split: {depth: 9}
)y",
     R"e(
f.yaml:3:11: budget 'b': rate must be at most 1e+15; it is 1e+16
f.yaml:4:12: budget 'b': burst must be at most 1e+15; it is 1e+16
f.yaml:5:22: budget 'b': max_concurrency must be 0 to 65535; it is 65536
f.yaml:6:18: budget 'b': max_buckets must be 1 to 268435456; it is 268435457
f.yaml:7:12: budget 'b': split depth must be 1 to 8; it is 9
)e"},
    {"RateTooSmall", R"y(
budgets:
  - name: b
    rate: 1e-12
    burst: 5
)y",
     R"e(
f.yaml:3:11: budget 'b': rate must be 0 or at least 1e-09; it is 1e-12
)e"},
    {"ShareWithoutCapacity", R"y(
targets: [{name: t}]
budgets:
  - name: b
    rate: 20%
    burst: 1s
)y",
     R"e(
f.yaml:4:11: budget 'b': rate is a share, but target 't' has no capacity
)e"},
    {"ShareBeyondAll", R"y(
targets: [{name: t, capacity: 5}]
budgets:
  - name: b
    rate: 120%
    burst: 1s
)y",
     R"e(
f.yaml:4:11: budget 'b': rate must be a share of 0% to 100% of the target's capacity; it is 120%
)e"},
    {"BurstTooSmall", R"y(
budgets:
  - name: b
    rate: 10
    burst: 50ms
)y",
     R"e(
f.yaml:4:12: burst of 0.5 cost units is less than default_cost, 1: a Check without an estimate would never be admitted
)e"},
    {"BurstTooSmallOnOneTarget", R"y(
targets: [{name: t, capacity: 1000}, {name: u, capacity: 5}]
budgets:
  - name: b
    rate: 10%
    burst: 1s
)y",
     R"e(
f.yaml:5:12: burst of 0.5 cost units on target 'u' is less than default_cost, 1: a Check without an estimate would never be admitted
)e"},
    {"MaxCostTooSmall", R"y(
budgets:
  - name: b
    max_cost: 5
    default_cost: 10
)y",
     R"e(
f.yaml:3:15: max_cost of 5 cost units is less than default_cost, 10: a Check without an estimate would never be admitted
)e"},
    {"BudgetOfUnknownProfile", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
budgets:
  - name: b
    health: p
)y",
     R"e(
f.yaml:6:13: unknown health profile 'p'; none is defined
)e"},
    {"BucketsBeyondMemory", R"y(
engine:
  bucket_bytes: 1048576
targets: [{name: t}, {name: u}]
budgets:
  - name: small
    rate: 5
    burst: 5
    split: {depth: 1}
    max_buckets: 16
  - name: large
    rate: 5
    burst: 5
    split: {depth: 1}
    max_buckets: 65536
)y",
     R"e(
f.yaml:14:18: the buckets of all split budgets on all targets take 3146496 bytes, more than engine.bucket_bytes, 1048576; those of this budget take most: lower its max_buckets
)e"},
    {"AutoWithoutTarget", R"y(
budgets:
  - name: b
    rate: auto
)y",
     R"e(
f.yaml:3:11: rate auto needs a target with a primary and batch_work; there is no target
)e"},
    {"AutoWithoutBatchWork", R"y(
targets:
  - name: t
    primary: {dsn_env: DSN}
  - name: u
budgets:
  - name: b
    rate: auto
rules:
  - name: r
    charge: [b]
)y",
     R"e(
f.yaml:7:11: rate auto needs a primary and batch_work on each target where rules charge it; target 't' has no batch_work
f.yaml:7:11: rate auto needs a primary and batch_work on each target where rules charge it; target 'u' has no primary
)e"},
    {"AutoWithDurationBurst", R"y(
targets: [{name: t, primary: {dsn_env: D}, batch_work: {roles: [r]}}]
budgets:
  - name: b
    rate: auto
    burst: 5s
)y",
     R"e(
f.yaml:4:11: budget 'b': has an auto rate, so its burst must be in cost units, not a duration
)e"},
    {"AutoSplitAndWarn", R"y(
targets: [{name: t, primary: {dsn_env: D}, batch_work: {roles: [r]}}]
budgets:
  - name: b
    rate: auto
    split: {depth: 1}
    mode: WARN
)y",
     R"e(
f.yaml:5:12: an auto budget cannot be split: each bucket would get the whole rate; split another budget, and charge both
f.yaml:6:11: an auto budget cannot be WARN: its controller learns by holding work back
)e"},
    {"AutoTuningBounds", R"y(
targets: [{name: t, primary: {dsn_env: D}, batch_work: {roles: [r]}}]
budgets:
  - name: b
    rate: auto
    auto_tuning:
      tolerance: 0.6
      max_rate: 0
      cores: 0
      latency_tolerance: 2
      tail_tolerance: 0
      weight: 0
)y",
     R"e(
f.yaml:6:18: tolerance must be 0.01 to 0.5; it is 0.6
f.yaml:7:17: max_rate must be 0.01 to 1024; it is 0
f.yaml:8:14: cores must be 1 to 4096; it is 0
f.yaml:9:26: latency_tolerance must be 0.01 to 1; it is 2
f.yaml:10:23: tail_tolerance must be 0.01 to 4; it is 0
f.yaml:11:15: weight must be 0.001 to 1000; it is 0
)e"},
    {"AutoTuningWithoutAuto", R"y(
budgets:
  - name: b
    rate: 5
    burst: 5
    auto_tuning: {cores: 4}
)y",
     R"e(
f.yaml:5:18: auto_tuning is for a budget whose rate is auto
)e"},
};

class WrongBudget : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongBudget, IsToldWithItsPlace) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Config, WrongBudget, testing::ValuesIn(kWrongBudgets), NameOfCase);

}  // namespace
}  // namespace headgate::config
