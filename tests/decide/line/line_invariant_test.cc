// Whoever waits, and whatever is reported: no bucket admits more than its burst and its rate, and
// none is left unused while anybody waits for it.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/decide/line/line_simulation.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/test_scale.h"

namespace headgate::line {
namespace {

// The most that was admitted in any interval beyond what `rate` and refunds had made room for.
struct Meter {
  double rate = 0;
  double admitted = 0;
  double refunded = 0;
  double lowest = 0;
  double largest = 0;

  void Admit(double cost, double seconds) {
    lowest = std::min(lowest, admitted - refunded - rate * seconds);
    admitted += cost;
    largest = std::max(largest, admitted - refunded - rate * seconds - lowest);
  }
};

// "all" for everybody, and "team" for each root identity.
engine::PolicySpec Policy() {
  engine::PolicySpec spec;
  spec.budgets.push_back(engine::RateBudget("all", 1000, 250));
  spec.budgets.push_back(engine::RateBudget("team", 400, 150));
  spec.budgets.back().split = engine::SplitByDepth{1};
  spec.rules.push_back(engine::ChargeRule("charge-all", "", {"all"}));
  spec.rules.push_back(engine::ChargeRule("charge-team", "", {"team"}));
  return spec;
}

engine::EngineOptions Options() {
  engine::EngineOptions options;
  options.seed = 7;
  options.max_permit_share = 1;
  return options;
}

TEST(LineInvariant, NoBucketAdmitsMoreThanItsBurstAndRateAndNoneIsLeftUnused) {
  for (int round = 0; round < Scaled(20); ++round) {
    std::mt19937_64 random{static_cast<uint64_t>(round) + 11};
    engine::Engine engine(Options());
    ASSERT_TRUE(
        engine
            .Install(Policy(), {.monotonic_ns = kSimulationStartNs, .wall_ns = kSimulationStartNs})
            .ok());
    const auto check = [&](const auto& request, Now now, auto& answer) {
      return engine.Check(request, now, answer);
    };
    WaitingLines lines({}, check);
    engine.AttachLine(&lines);
    std::map<std::string, Meter> meters;
    const auto meters_of = [&](const std::string& identity) {
      Meter& all = meters["all"];
      all.rate = 1000;
      Meter& team = meters[identity.substr(identity.rfind(':') + 1)];
      team.rate = 400;
      return std::vector<Meter*>{&all, &team};
    };
    std::map<engine::PermitId, double> predicted;
    Simulation simulation(check, lines, kSimulationStartNs,
                          [&](const SimulatedJob& job, engine::PermitId permit, Now now) {
                            const double actual =
                                job.chunk *
                                std::uniform_real_distribution<double>(0.5, 1.2)(random);
                            ASSERT_TRUE(engine.Report(permit, {.cost = actual}, now).ok());
                            for (Meter* meter : meters_of(job.identity)) {
                              meter->refunded += std::max(predicted[permit] - actual, 0.0);
                            }
                            predicted.erase(permit);
                          });
    simulation.on_admitted = [&](const SimulatedJob& job, const engine::CheckAnswer& answer,
                                 Now now) {
      predicted[answer.permit] = answer.predicted_cost;
      for (Meter* meter : meters_of(job.identity)) {
        meter->Admit(answer.predicted_cost,
                     static_cast<double>(now.monotonic_ns - kSimulationStartNs) / 1e9);
      }
    };
    for (int job = 0; job < 12; ++job) {
      simulation.Add({.identity = absl::StrCat("j", job, ":t", job % 4),
                      .chunk = std::uniform_real_distribution<double>(5, 100)(random),
                      .workers = 1 + static_cast<int>(random() % 4),
                      .polls = random() % 4 == 0,
                      .max_wait = absl::Milliseconds(200 + random() % 5000),
                      .work = absl::Milliseconds(1 + random() % 50)});
    }
    simulation.RunFor(absl::Seconds(60));
    for (const auto& [name, meter] : meters) {
      EXPECT_LE(meter.largest, (name == "all" ? 250 : 150) + 0.01) << name << ", round " << round;
    }
    EXPECT_GE(meters["all"].admitted, 0.99 * 60'000) << "round " << round;
    EXPECT_GT(lines.ReadStats(simulation.now()).admitted(), 100u);
  }
}

}  // namespace
}  // namespace headgate::line
