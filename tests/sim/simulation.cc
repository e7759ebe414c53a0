#include "tests/sim/simulation.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/engine/engine.h"
#include "server/health/control_loop.h"
#include "tests/sim/reference_laws.h"

namespace headgate::sim {
namespace {

constexpr double kGateSessions = 8;
constexpr double kRatesEvery = 0.1;  // s
constexpr double kBurst = 0.1;       // busy seconds, as the configuration's default

Now At(double seconds) {
  const auto ns = static_cast<int64_t>((seconds + 1000) * 1e9);
  return {.monotonic_ns = ns, .wall_ns = ns};
}

engine::PolicySpec Policy() {
  engine::PolicySpec spec;
  engine::BudgetSpec& budget = spec.budgets.emplace_back();
  budget.name = "batch";
  budget.rate = engine::AutoRate{};
  budget.burst = kBurst;
  budget.default_cost = kBurst;
  budget.max_concurrency = 1000;
  engine::RuleSpec& rule = spec.rules.emplace_back();
  rule.name = "all";
  rule.action = engine::ChargeAction{{"batch"}};
  return spec;
}

std::unique_ptr<ReferenceLaw> ReferenceFor(const Scenario& scenario) {
  switch (scenario.law) {
    case Law::kFixedRate:
      return MakeFixedRate(scenario.fixed_rate);
    case Law::kHardGate:
      return MakeHardGate(kGateSessions);
    case Law::kAimd:
      return MakeAimd();
    case Law::kPairedProbing:
      return MakePairedProbing(scenario.model.cores);
    case Law::kAlone:
    case Law::kGreedy:
    case Law::kController:
      break;
  }
  return nullptr;
}

class Run final : private BatchGate {
 public:
  explicit Run(const Scenario& scenario)
      : scenario_(scenario),
        engine_({.seed = scenario.seed, .max_permits = 1024, .max_patterns = 64}),
        loop_({.target = "",
               .budgets = {{"batch", ""}},
               .options = {.cores = scenario.model.cores,
                           .max_rate = 2 * scenario.model.cores,
                           .seed = scenario.seed}},
              engine_),
        reference_(ReferenceFor(scenario)),
        database_(scenario.model, *this, scenario.seed) {
    (void)engine_.Install(Policy(), At(0));
    for (int i = 0; i < scenario.model.batch.workers; ++i) {
      identities_.push_back(absl::StrCat("worker-", i, ":batch"));
    }
  }

  Outcome Finish() {
    RunUntil(scenario_.warm_up);
    (void)database_.TakeTally();
    RunUntil(scenario_.warm_up + scenario_.seconds);
    Tally tally = database_.TakeTally();
    outcome_.foreground = tally.present > 0 ? tally.transactions / tally.present : 0;
    outcome_.work = tally.work / tally.seconds;
    outcome_.busy = tally.busy / tally.seconds;
    if (tally.latencies.empty()) return outcome_;
    const auto count = static_cast<double>(tally.latencies.size());
    outcome_.mean_ms =
        1000 * std::accumulate(tally.latencies.begin(), tally.latencies.end(), 0.0) / count;
    const auto place = tally.latencies.begin() + static_cast<std::ptrdiff_t>(0.99 * count);
    std::nth_element(tally.latencies.begin(), place, tally.latencies.end());
    outcome_.p99_ms = 1000 * static_cast<double>(*place);
    return outcome_;
  }

 private:
  void RunUntil(double time) {
    while (database_.now() < time) {
      const double next = std::min({time, control_at_, rates_at_});
      database_.RunUntil(next);
      if (next == control_at_) Control();
      if (next == rates_at_) {
        outcome_.rates.push_back(rate_);
        rates_at_ += kRatesEvery;
      }
    }
  }

  void Control() {
    if (scenario_.meanwhile != nullptr) scenario_.meanwhile(database_);
    const double now = database_.now();
    if (reference_ != nullptr) {
      const ReferenceLaw::Verdict verdict = reference_->Look(Sample());
      rate_ = verdict.rate;
      control_at_ = now + verdict.next;
      (void)engine_.SetAutoRate("", "batch",
                                {.rate = verdict.rate,
                                 .shut = verdict.shut,
                                 .next_change_at_ns = At(control_at_).monotonic_ns},
                                At(now));
      return;
    }
    absl::StatusOr<health::WorkCounters> counters = database_.Counters();
    if (scenario_.fails != nullptr && scenario_.fails(now)) {
      counters = absl::UnavailableError("the database is away");
    }
    control_at_ = now + absl::ToDoubleSeconds(loop_.OnWork(counters, At(now)));
    rate_ = loop_.Snapshot()[0].rate;
  }

  health::ControlSample Sample() {
    const auto activity = engine_.ReadAutoActivity("", "batch", At(database_.now()));
    return {.work = database_.Counters(),
            .checks = activity->checks,
            .transactions = activity->reports,
            .busy_seconds = activity->reported_cost,
            .outstanding = activity->outstanding};
  }

  Leave Ask(int worker, double now) override {
    if (scenario_.law == Law::kGreedy) return {};
    if (scenario_.law == Law::kAlone) return {.granted = false, .retry_after = 1};
    (void)engine_.Check({.identity = identities_[static_cast<size_t>(worker)], .pattern = "chunk"},
                        At(now), answer_);
    return {.granted = answer_.verdict == engine::Verdict::kAllowed,
            .permit = answer_.permit,
            .retry_after = absl::ToDoubleSeconds(answer_.retry_after)};
  }

  void Report(uint64_t permit, double busy_seconds, double now) override {
    if (permit != 0)
      (void)engine_.Report(permit, {.busy_time = absl::Seconds(busy_seconds)}, At(now));
  }

  const Scenario& scenario_;
  engine::Engine engine_;
  health::ControlLoop loop_;
  const std::unique_ptr<ReferenceLaw> reference_;
  ModelDatabase database_;
  std::vector<std::string> identities_;
  engine::CheckAnswer answer_;
  double control_at_ = 0.0005;  // before anybody asks
  double rates_at_ = kRatesEvery;
  double rate_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome Simulate(const Scenario& scenario) { return Run(scenario).Finish(); }

Outcome FindOracle(Scenario scenario, double alone) {
  constexpr double kLeft = 0.95;
  Outcome best;
  scenario.law = Law::kFixedRate;
  for (double rate = 0.02; rate <= 2 * scenario.model.cores; rate *= 1.25) {
    scenario.fixed_rate = rate;
    Outcome outcome = Simulate(scenario);
    if (outcome.foreground >= kLeft * alone && outcome.work > best.work) best = outcome;
  }
  return best;
}

}  // namespace headgate::sim
