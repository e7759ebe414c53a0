#include "tests/sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/engine/engine.h"
#include "server/health/control_loop.h"

namespace headgate::sim {
namespace {

constexpr double kStep = 0.005;     // s
constexpr double kGate = 8;         // active sessions at which the hard gate shuts
constexpr double kGateEvery = 0.5;  // s between its looks

engine::PolicySpec Policy() {
  engine::PolicySpec spec;
  engine::BudgetSpec& budget = spec.budgets.emplace_back();
  budget.name = "batch";
  budget.rate = engine::AutoRate{};
  budget.burst = 0.1;
  budget.default_cost = 0.1;
  budget.max_concurrency = 1000;
  engine::RuleSpec& rule = spec.rules.emplace_back();
  rule.name = "all";
  rule.action = engine::ChargeAction{{"batch"}};
  return spec;
}

class Run {
 public:
  explicit Run(const Scenario& scenario)
      : scenario_(scenario),
        database_(scenario.workload, scenario.seed),
        engine_({.seed = scenario.seed}),
        loop_({.target = "",
               .budgets = {{"batch", ""}},
               .options = {.cores = scenario.workload.cores,
                           .max_rate = 2 * scenario.workload.cores,
                           .seed = scenario.seed}},
              engine_),
        workers_(static_cast<size_t>(scenario.workers)) {
    (void)engine_.Install(Policy(), At());
    for (size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].identity = absl::StrCat("worker-", i, ":batch");
    }
  }

  Outcome Finish() {
    const double end = scenario_.warm_up + scenario_.seconds;
    double counted_from = 0, batch_from = 0;
    bool counting = false;
    while (database_.now() < end) {
      if (!counting && database_.now() >= scenario_.warm_up) {
        counting = true;
        counted_from = database_.transactions();
        batch_from = work_done_;
      }
      Step();
    }
    outcome_.foreground = (database_.transactions() - counted_from) / scenario_.seconds;
    outcome_.batch = (work_done_ - batch_from) / scenario_.seconds;
    return outcome_;
  }

 private:
  struct Worker {
    std::string identity;
    double asks_at = 0;
    int chunk = -1;  // in flight
    double began_at = 0;
    engine::PermitId permit = 0;
  };

  // A second in: times of 0 mean "never".
  Now At() const {
    const auto ns = static_cast<int64_t>(std::llround(database_.now() * 1e9));
    return {.monotonic_ns = ns, .wall_ns = ns};
  }

  void Step() {
    if (scenario_.meanwhile != nullptr) scenario_.meanwhile(database_);
    Control();
    for (Worker& worker : workers_) {
      if (worker.chunk < 0 && database_.now() >= worker.asks_at) Ask(worker);
    }
    database_.Advance(kStep);
    for (const int chunk : database_.TakeFinished()) {
      for (Worker& worker : workers_) {
        if (worker.chunk == chunk) Report(worker);
      }
    }
    if (std::fmod(database_.now(), 0.1) < kStep) outcome_.rates.push_back(rate_);
  }

  void Control() {
    if (database_.now() < controls_at_) return;
    switch (scenario_.law) {
      case Law::kNone:
        return SetRate(1000, 1);
      case Law::kFixedRate:
        return SetRate(scenario_.fixed_rate, 1);
      case Law::kHardGate:
        return SetGate();
      case Law::kController:
        controls_at_ =
            database_.now() + absl::ToDoubleSeconds(loop_.OnWork(database_.Counters(), At()));
        rate_ = loop_.Snapshot()[0].rate;
    }
  }

  void SetRate(double rate, double next) {
    rate_ = rate;
    controls_at_ = database_.now() + next;
    (void)engine_.SetAutoRate("", "batch", {.rate = rate}, At());
  }

  void SetGate() {
    const health::WorkCounters counters = database_.Counters();
    const bool shut = counters.foreground_active + counters.batch_active >= kGate;
    controls_at_ = database_.now() + kGateEvery;
    (void)engine_.SetAutoRate(
        "", "batch",
        {.rate = 1000, .shut = shut, .next_change_at_ns = static_cast<int64_t>(controls_at_ * 1e9)},
        At());
  }

  void Ask(Worker& worker) {
    const Now now = At();
    (void)engine_.Check({.identity = worker.identity, .pattern = "chunk"}, now, answer_);
    if (answer_.verdict == engine::Verdict::kAllowed) {
      worker.chunk = database_.StartChunk(scenario_.chunk);
      worker.began_at = database_.now();
      worker.permit = answer_.permit;
    } else {
      const double wait = std::min(1.0, absl::ToDoubleSeconds(answer_.retry_after));
      worker.asks_at = database_.now() + std::max(wait, kStep);
    }
  }

  void Report(Worker& worker) {
    (void)engine_.Report(worker.permit, database_.now() - worker.began_at, At());
    work_done_ += scenario_.chunk;
    worker.chunk = -1;
    worker.asks_at = database_.now();
  }

  const Scenario& scenario_;
  ModelDatabase database_;
  engine::Engine engine_;
  health::ControlLoop loop_;
  std::vector<Worker> workers_;
  engine::CheckAnswer answer_;
  double controls_at_ = 0;
  double rate_ = 0;
  double work_done_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome Simulate(const Scenario& scenario) { return Run(scenario).Finish(); }

Outcome FindOracle(Scenario scenario, double alone, double least) {
  Outcome best;
  scenario.law = Law::kFixedRate;
  for (double rate = 0.01; rate <= 2 * scenario.workload.cores; rate *= 1.25) {
    scenario.fixed_rate = rate;
    Outcome outcome = Simulate(scenario);
    const bool harmless = outcome.foreground >= least * alone;
    if (harmless && outcome.batch > best.batch) best = std::move(outcome);
  }
  return best;
}

}  // namespace headgate::sim
