#include "tests/sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/engine.h"
#include "server/observe/control/control_loop.h"
#include "server/observe/postgres/reading_budget.h"
#include "tests/sim/reference_laws.h"

namespace headgate::sim {
namespace {

constexpr double kGateSessions = 8;
constexpr double kRatesEvery = 0.1;  // s
constexpr double kNever = 1e9;
constexpr double kAskAgain = 0.05;  // s, where no server answers
constexpr double kBurst = 0.1;      // busy seconds, as the configuration's default
constexpr double kToldEvery = 0.5;  // s, by the agent

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

double Percentile(std::vector<float>& values, double share) {
  const auto count = static_cast<double>(values.size());
  const auto place = static_cast<std::ptrdiff_t>(std::min(share * count, count - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return static_cast<double>(values[static_cast<size_t>(place)]);
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
    case Law::kPulses:
      return MakePulses(scenario.model.cores, scenario.seed);
    case Law::kAlone:
    case Law::kGreedy:
    case Law::kController:
    case Law::kUntold:
      break;
  }
  return nullptr;
}

class Run final : private BatchGate {
 public:
  explicit Run(const Scenario& scenario)
      : scenario_(scenario),
        engine_(MakeEngine()),
        loop_(MakeLoop()),
        reference_(ReferenceFor(scenario)),
        database_(scenario.model, *this, scenario.seed),
        restart_at_(scenario.restart_at > 0 ? scenario.restart_at : kNever),
        told_at_(scenario.model.yielding.works && scenario.law == Law::kController ? 0 : kNever) {
    (void)engine_->Install(Policy(), At(0));
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
    outcome_.rows = tally.rows / tally.seconds;
    outcome_.chunk = tally.chunks > 0 ? tally.busy / tally.chunks : 0;
    if (tally.latencies.empty()) return outcome_;
    const auto count = static_cast<double>(tally.latencies.size());
    outcome_.mean_ms =
        1000 * std::accumulate(tally.latencies.begin(), tally.latencies.end(), 0.0) / count;
    double squares = 0;
    for (const float latency : tally.latencies) {
      const double off = 1000 * static_cast<double>(latency) - outcome_.mean_ms;
      squares += off * off;
    }
    outcome_.deviation_ms = std::sqrt(squares / count);
    outcome_.p99_ms = 1000 * Percentile(tally.latencies, 0.99);
    outcome_.p999_ms = 1000 * Percentile(tally.latencies, 0.999);
    outcome_.longest_ms = 1000 * Percentile(tally.latencies, 1);
    return outcome_;
  }

 private:
  std::unique_ptr<engine::Engine> MakeEngine() const {
    return std::make_unique<engine::Engine>(
        engine::EngineOptions{.seed = scenario_.seed, .max_permits = 1024, .max_patterns = 64});
  }
  std::unique_ptr<control::ControlLoop> MakeLoop() {
    return std::make_unique<control::ControlLoop>(
        control::ControlSpec{.target = "",
                             .budgets = {{"batch", ""}},
                             .options = {.cores = scenario_.model.cores,
                                         .max_rate = 2 * scenario_.model.cores,
                                         .seed = scenario_.seed}},
        *engine_);
  }

  void Stop() {
    engine_->Save(At(database_.now()), saved_);
    loop_.reset();
    engine_.reset();
    control_at_ = restart_at_ = database_.now() + scenario_.down_for;
  }
  void StartAgain() {
    const Now now = At(database_.now());
    engine_ = MakeEngine();
    (void)engine_->Restore(saved_, now, now.monotonic_ns - saved_.saved_at.monotonic_ns);
    (void)engine_->Install(Policy(), now);
    for (const Unreported& report : std::exchange(unreported_, {})) {
      Report(report.permit, report.rows, report.busy_seconds, database_.now());
    }
    loop_ = MakeLoop();
    wish_ = health::StatementsWish::kNow;
    restart_at_ = kNever;
  }

  void RunUntil(double time) {
    while (database_.now() < time) {
      const double next = std::min({time, control_at_, rates_at_, restart_at_, told_at_});
      database_.RunUntil(next);
      if (next == restart_at_ && engine_ != nullptr) Stop();
      if (next == restart_at_ && engine_ == nullptr) StartAgain();
      if (next == told_at_) Tell();
      if (next == control_at_) Control();
      if (next == rates_at_) {
        outcome_.rates.push_back(rate_);
        rates_at_ += kRatesEvery;
      }
    }
  }

  void Tell() {
    const double now = database_.now();
    if (loop_ != nullptr && now < scenario_.model.yielding.until) {
      loop_->OnYielding(database_.Told(), At(now));
    }
    told_at_ = now + kToldEvery;
  }

  void Control() {
    if (scenario_.meanwhile != nullptr) scenario_.meanwhile(database_);
    const double now = database_.now();
    if (reference_ != nullptr) {
      const ReferenceLaw::Verdict verdict = reference_->Look(Sample());
      rate_ = verdict.found >= 0 ? verdict.found : verdict.rate;
      control_at_ = now + verdict.next;
      (void)engine_->SetAutoRate("", "batch",
                                 {.rate = verdict.rate,
                                  .shut = verdict.shut,
                                  .next_change_at_ns = At(control_at_).monotonic_ns},
                                 At(now));
      return;
    }
    absl::StatusOr<health::WorkCounters> counters = database_.Counters();
    const auto now_ns = At(now).monotonic_ns;
    if (reading_.Allows(wish_, now_ns)) {
      reading_.Spend(scenario_.model.entries, now_ns);
    } else {
      counters->statements.reset();
    }
    if (scenario_.fails != nullptr && scenario_.fails(now)) {
      counters = absl::UnavailableError("the database is away");
    }
    const health::WorkWish wish = loop_->OnWork(counters, At(now));
    control_at_ = now + absl::ToDoubleSeconds(wish.after);
    wish_ = wish.statements;
    rate_ = loop_->Snapshot()[0].rate;
  }

  control::ControlSample Sample() {
    const auto activity = engine_->ReadAutoActivity("", "batch", At(database_.now()));
    return {.work = database_.Counters(),
            .checks = activity->checks,
            .transactions = activity->reports,
            .busy_seconds = activity->reported_cost,
            .outstanding = activity->outstanding};
  }

  Leave Ask(int worker, double rows, double now) override {
    if (scenario_.law == Law::kGreedy) return {};
    if (scenario_.law == Law::kAlone) return {.granted = false, .retry_after = 1};
    if (engine_ == nullptr) return {.granted = false, .retry_after = kAskAgain};
    engine::CheckRequest request{.identity = identities_[static_cast<size_t>(worker)],
                                 .pattern = "chunk"};
    if (rows > 0) request.estimated_cost = rows;
    (void)engine_->Check(request, At(now), answer_);
    return {.granted = answer_.verdict == engine::Verdict::kAllowed,
            .permit = answer_.permit,
            .retry_after = absl::ToDoubleSeconds(answer_.retry_after),
            .chunk_scale = answer_.chunk_scale};
  }

  void Report(uint64_t permit, double rows, double busy_seconds, double now) override {
    if (permit == 0) return;
    if (engine_ == nullptr) {
      unreported_.push_back({permit, rows, busy_seconds});
      return;
    }
    engine::ActualCost actual{.busy_time = absl::Seconds(busy_seconds)};
    if (rows > 0) actual.cost = rows;
    (void)engine_->Report(permit, actual, At(now));
  }

  const Scenario& scenario_;
  std::unique_ptr<engine::Engine> engine_;  // null: the server is down
  std::unique_ptr<control::ControlLoop> loop_;
  struct Unreported {
    uint64_t permit = 0;
    double rows = 0, busy_seconds = 0;
  };
  engine::SavedState saved_;            // while it is down,
  std::vector<Unreported> unreported_;  // and what its callers will say
  const std::unique_ptr<ReferenceLaw> reference_;
  postgres::ReadingBudget reading_;
  health::StatementsWish wish_ = health::StatementsWish::kNow;
  ModelDatabase database_;
  std::vector<std::string> identities_;
  engine::CheckAnswer answer_;
  double control_at_ = 0.0005;  // before anybody asks
  double rates_at_ = kRatesEvery;
  double restart_at_;  // where it stops, or begins again
  double told_at_;     // by the agent
  double rate_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome Simulate(const Scenario& scenario) { return Run(scenario).Finish(); }

double OracleWork(Scenario scenario, int seeds) {
  constexpr double kLeft = 0.95, kMean = 1.1, kDeviation = 1.25, kStep = 1.2;
  // Over all seeds: a single run is lucky at times.
  const auto run = [&](Law law, double rate) {
    Outcome sum;
    scenario.law = law;
    scenario.fixed_rate = rate;
    for (int seed = 1; seed <= seeds; ++seed) {
      scenario.seed = static_cast<uint64_t>(seed);
      const Outcome one = Simulate(scenario);
      sum.foreground += one.foreground / seeds;
      sum.mean_ms += one.mean_ms / seeds;
      sum.deviation_ms += one.deviation_ms / seeds;
      sum.work += one.work / seeds;
    }
    return sum;
  };
  const Outcome alone = run(Law::kAlone, 0);
  // How much of what is tolerated is used up: 1 at the limit.
  const auto harm = [&](const Outcome& outcome) {
    return std::max({(1 - outcome.foreground / alone.foreground) / (1 - kLeft),
                     (outcome.mean_ms / alone.mean_ms - 1) / (kMean - 1),
                     (outcome.deviation_ms / alone.deviation_ms - 1) / (kDeviation - 1)});
  };
  double work = 0, harm_before = 0;
  for (double rate = 0.02; rate <= 2 * scenario.model.cores; rate *= kStep) {
    const Outcome outcome = run(Law::kFixedRate, rate);
    const double harm_now = harm(outcome);
    if (harm_now > 1) {
      return work + (outcome.work - work) * (1 - harm_before) / (harm_now - harm_before);
    }
    work = outcome.work;
    harm_before = harm_now;
  }
  return work;
}

}  // namespace headgate::sim
