// How much of what is due comes back to permits that cost less than predicted: shares of 1, the
// same on every run.
//
// A permit of 100 is reported as 10. Before the permits 50 are charged, and Reports come when just
// these have drained: nothing of the permits has, so 90 is due to each.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/engine.h"

namespace headgate::engine {

class RefundShare {
 public:
  // One permit each, reported in any order.
  static double OfOneAmong(int others) {
    RefundShare rig(/*split=*/true);
    return rig.Run(others + 1, 1, Order::kAny);
  }
  // So many permits each; the last of all is reported first.
  static double LastInFirstOut(int jobs, int permits_each) {
    RefundShare rig(/*split=*/true);
    return rig.Run(jobs, permits_each, Order::kLastFirst);
  }
  static double InAnyOrder(int jobs, int permits_each) {
    RefundShare rig(/*split=*/true);
    return rig.Run(jobs, permits_each, Order::kAny);
  }
  static double OnOneBucket(int permits) {
    RefundShare rig(/*split=*/false);
    return rig.Run(1, permits, Order::kAny);
  }
  // What they cost is anything from nothing to twice the prediction; only those that cost less
  // count.
  static double OfNoisyJobs(int jobs) {
    RefundShare rig(/*split=*/true);
    rig.noisy_ = true;
    return rig.Run(jobs, 1, Order::kAny);
  }

 private:
  enum class Order : uint8_t { kAny, kLastFirst };

  explicit RefundShare(bool split)
      : engine_({.seed = 1,
                 .permit_ttl = absl::Hours(1),
                 .max_permits = size_t{1} << 15,
                 .max_permit_share = 1}) {
    PolicySpec spec;
    BudgetSpec budget;
    budget.name = "b";
    budget.rate = UnitsPerSecond{1};
    budget.burst = 1e7;
    if (split) budget.split = SplitByDepth{2};
    budget.max_buckets = 65'536;
    spec.budgets.push_back(budget);
    RuleSpec rule;
    rule.name = "all";
    rule.action = ChargeAction{{"b"}};
    spec.rules.push_back(rule);
    if (!engine_.Install(std::move(spec), Now{.monotonic_ns = 1}).ok()) std::abort();
  }

  static std::string Job(int number) { return absl::StrCat("job-", number, ":etl"); }
  static Now At(int64_t seconds) { return {.monotonic_ns = 1 + seconds * 1'000'000'000}; }

  PermitId Admit(int job, double cost) {
    CheckAnswer answer;
    const absl::Status status =
        engine_.Check({.identity = Job(job), .estimated_cost = cost}, At(0), answer);
    if (!status.ok() || answer.verdict != Verdict::kAllowed) std::abort();
    return answer.permit;
  }

  double Debt(int job) {
    const auto explanation = engine_.Explain({.identity = Job(job), .estimated_cost = 0}, At(50));
    if (!explanation.ok()) std::abort();
    return explanation->buckets.at(0).debt;
  }

  double Run(int jobs, int permits_each, Order order) {
    std::mt19937_64 random(1);
    std::vector<std::pair<int, PermitId>> out;
    for (int job = 0; job < jobs; ++job) {
      const PermitId in_front = Admit(job, 50);
      engine_.Report(in_front, {.cost = 50}, At(0)).IgnoreError();  // its place is for others
      for (int i = 0; i < permits_each; ++i) out.emplace_back(job, Admit(job, 100));
    }
    if (order == Order::kAny) std::shuffle(out.begin(), out.end(), random);
    if (order == Order::kLastFirst) std::reverse(out.begin(), out.end());
    double due = 0, refunded = 0;
    for (const auto& [job, permit] : out) {
      const double actual = noisy_ ? static_cast<double>(random() % 201) : 10;
      const double before = Debt(job);
      engine_.Report(permit, {.cost = actual}, At(50)).IgnoreError();
      if (actual >= 100) continue;
      due += 100 - actual;
      refunded += before - Debt(job);
    }
    return refunded / due;
  }

  Engine engine_;
  bool noisy_ = false;
};

}  // namespace headgate::engine
