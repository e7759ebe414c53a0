// What being observed costs: counting and timing calls, for each Check, and a scrape, for the
// server.
//
// A Check is handled as a route handles it, protobuf included, with the throttle log's counts, and
// its permit settled; once with the calls counted and every 64th timed, once without. Slices of
// both take turns, and the difference is the median of the differences of neighbours. The scrape is
// of a server with 100 split budgets of 65,536 buckets.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "server/decide/engine/policy.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/serve/rpc/throttler.h"
#include "server/serve/transport/calls.h"
#include "server/serve/web/metrics.h"
#include "tests/testing/median.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::bench {
namespace {

constexpr int kChecks = 100'000;
constexpr int kSlices = 61;
constexpr int kBudgets = 100;
constexpr int kTargets = 4;

double NsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

engine::BudgetSpec BudgetOf(const std::string& name, double rate, double burst) {
  engine::BudgetSpec budget;
  budget.name = name;
  budget.rate = engine::UnitsPerSecond{rate};
  budget.burst = engine::BurstSpec{burst};
  return budget;
}

engine::PolicySpec OneBudget() {
  engine::PolicySpec policy;
  policy.budgets.push_back(BudgetOf("b", 1e12, 1e12));
  engine::RuleSpec rule;
  rule.name = "r";
  rule.match.identity = "etl";
  rule.action = engine::ChargeAction{{"b"}};
  policy.rules.push_back(rule);
  return policy;
}

engine::PolicySpec ManyBudgets() {
  engine::PolicySpec policy;
  for (int i = 0; i < kTargets; ++i) {
    engine::TargetSpec target;
    target.name = absl::StrCat("target-", i);
    policy.targets.push_back(target);
  }
  for (int i = 0; i < kBudgets / kTargets; ++i) {
    engine::BudgetSpec budget = BudgetOf(absl::StrCat("budget-", i), 1, 1);
    budget.split = engine::SplitByDepth{1};
    policy.budgets.push_back(budget);
  }
  return policy;
}

struct Handled {
  SystemClock& clock;
  engine::Engine& engine;
  rpc::QuietDependencies quiet{engine, clock};
  rpc::Throttler throttler{quiet.all};
  transport::MethodCalls& method = quiet.calls.AddThread("Check");
  grpc::ServerContext context = {};
  v1::CheckRequest request = {};
  v1::Decision decision = {};
  rpc::CallThatCannotWait call = {};

  // Else the table of permits would be full soon.
  void Settle() {
    if (!engine.Report(decision.permit_id(), {.cost = 1}, Now{.monotonic_ns = 1, .wall_ns = 1})
             .ok()) {
      std::abort();
    }
  }
  double Plain() {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kChecks; ++i) {
      if (!throttler.Check(request, {}, decision, call).ok()) std::abort();
      Settle();
    }
    return NsSince(start) / kChecks;
  }
  double Observed() {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kChecks; ++i) {
      const int64_t started_ns = method.Begin();
      const grpc::Status status = throttler.Check(request, {}, decision, call);
      method.End(context, started_ns, status);
      if (!status.ok()) std::abort();
      Settle();
    }
    return NsSince(start) / kChecks;
  }
};

void MeasureCheck() {
  SystemClock clock;
  engine::Engine engine({.seed = 1, .max_permits = size_t{1} << 10});
  if (!engine.Install(OneBudget(), clock.Read()).ok()) std::abort();
  Handled handled{.clock = clock, .engine = engine};
  handled.request.set_identity("d666bbfc_169e:vcopier:vreplication:etl");
  handled.request.set_estimated_cost(1);
  std::vector<double> plain, more;
  for (int i = 0; i < kSlices; ++i) {
    plain.push_back(handled.Plain());
    more.push_back(handled.Observed() - plain.back());
  }
  const double ns = Median(plain);
  std::printf("a Check, handled: %.0f ns; observed: %+.1f ns (%.3f x)\n", ns, Median(more),
              (ns + Median(more)) / ns);
}

void MeasureScrape() {
  SystemClock clock;
  engine::Engine engine({.seed = 1});
  if (!engine.Install(ManyBudgets(), clock.Read()).ok()) std::abort();
  throttle_log::Recorder recorder({.seed = 1});
  transport::CallListener nobody;
  transport::Calls calls(clock, 1, nobody);
  calls.AddThread("Check");
  std::vector<double> took;
  size_t bytes = 0;
  for (int i = 0; i < 21; ++i) {
    const auto start = std::chrono::steady_clock::now();
    web::Exposition out;
    web::AddChecks(recorder.Totals(), *engine.policy(), out);
    web::AddCalls(calls, out);
    web::AddEngine(engine, {.now = clock.Read()}, out);
    web::AddProcess(out);
    bytes = out.Text().size();
    took.push_back(NsSince(start));
  }
  std::printf("a scrape of %d split budgets with 65536 buckets each: %.1f ms, %zu kB\n", kBudgets,
              Median(took) / 1e6, bytes / 1000);
}

}  // namespace
}  // namespace headgate::bench

int main() {
  headgate::bench::MeasureCheck();
  headgate::bench::MeasureScrape();
  return 0;
}
