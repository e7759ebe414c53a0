// The engine against a model that is simple enough to be believed, over random traces of actions;
// and its guarantees where the model can't follow: tables far too small, and the end of time.
//
// HEADGATE_TEST_SCALE multiplies the number of random actions.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "tests/testing/action_trace.h"
#include "tests/testing/test_scale.h"

namespace headgate::engine {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

uint64_t CountActions(const model::Tally& tally) {
  uint64_t actions = 0;
  for (const auto& [name, times] : tally) actions += name.starts_with("action: ") ? times : 0;
  return actions;
}

// Runs random traces until there were `wanted` actions; fails at the first disagreement.
void RunTraces(uint64_t wanted, std::mt19937_64& random, model::Tally& tally) {
  std::vector<uint8_t> bytes;
  while (CountActions(tally) < wanted) {
    // Short traces see a young engine, long ones one with a history.
    bytes.resize(100 + random() % 6000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    ASSERT_EQ(model::RunTrace(bytes, &tally), "") << "after " << CountActions(tally) << " actions";
  }
}

TEST(EngineProperty, AnswersEveryRandomTraceAsTheModelDoes) {
  const auto wanted = static_cast<uint64_t>(1e6 * TestScale());
  std::mt19937_64 random(20260101);
  model::Tally tally;
  RunTraces(wanted, random, tally);
  for (const auto& [name, times] : tally) {
    std::printf("%10llu  %s\n", static_cast<unsigned long long>(times), name.c_str());
  }
  if (HasFatalFailure() || wanted < 100'000) return;
  // Where one of these has become rare, the traces don't test what they are for.
  for (const std::string_view outcome : {"allowed",
                                         "allowed: exempt",
                                         "allowed after the wait",
                                         "denied: capacity",
                                         "denied: deny rule",
                                         "denied: health",
                                         "denied: max concurrency",
                                         "denied: max cost",
                                         "denied: reject ratio",
                                         "warned",
                                         "resumed",
                                         "stopped after a resume",
                                         "repeated by request id",
                                         "error: FAILED_PRECONDITION",
                                         "error: INVALID_ARGUMENT",
                                         "error: NOT_FOUND",
                                         "extra cost",
                                         "extra cost after a move",
                                         "refund",
                                         "refund after a move",
                                         "settled after several moves",
                                         "late refund",
                                         "reported again",
                                         "reported late",
                                         "gate shut",
                                         "jump ahead",
                                         "jump back",
                                         "ledger dropped",
                                         "ledger kept",
                                         "ledger moved",
                                         "ledger split anew",
                                         "policy refused"}) {
    const auto found = tally.find(outcome);
    EXPECT_GE(found == tally.end() ? 0 : found->second, wanted / 2000) << outcome;
  }
}

// 20 units a second, at most 10 of debt: one bucket for each identity, and room for eight.
PolicySpec CrowdedPolicy() {
  PolicySpec spec;
  spec.budgets = {BudgetSpec{.name = "crowded",
                             .rate = UnitsPerSecond{20},
                             .burst = 10.0,
                             .max_cost = {},
                             .max_concurrency = {},
                             .split = SplitByDepth{8},
                             .health = "",
                             .max_buckets = 8}};
  spec.rules = {RuleSpec{.name = "all", .match = {}, .action = ChargeAction{{"crowded"}}}};
  return spec;
}

TEST(EngineProperty, EvictionNeverLetsAnIdentityPassItsLimitNorStopsAdmission) {
  constexpr int64_t kNsPerUnit = kSecondNs / 20;
  constexpr int64_t kBurstNs = 10 * kNsPerUnit;
  constexpr size_t kIdentities = 300;
  const auto checks = static_cast<int>(300'000 * TestScale());
  std::mt19937_64 random(20260102);
  Engine engine({.seed = 4711, .permit_ttl = absl::Milliseconds(1)});
  Now now{.monotonic_ns = kSecondNs, .wall_ns = 0};
  ASSERT_TRUE(engine.Install(CrowdedPolicy(), now).ok());

  std::vector<std::string> names;
  for (size_t i = 0; i < kIdentities; ++i) names.push_back("job-" + std::to_string(i));
  std::vector<int64_t> empties_at(kIdentities, 0);  // if each had a bucket to itself
  int64_t last_admitted_ns = now.monotonic_ns;
  int admitted = 0;
  CheckAnswer answer;
  for (int i = 0; i < checks; ++i) {
    // Now and then a few of them insist, so that buckets fill and are evicted while full.
    const size_t who = random() % 4 == 0 ? random() % kIdentities : random() % 12;
    const int64_t cost = 1 + static_cast<int64_t>(random() % 10);
    if (random() % 4 == 0) now.monotonic_ns += static_cast<int64_t>(random() % (kSecondNs / 20));
    ASSERT_TRUE(engine
                    .Check({.identity = names[who], .estimated_cost = static_cast<double>(cost)},
                           now, answer)
                    .ok());
    if (answer.verdict == Verdict::kDenied) {
      // A bucket that nobody charges is empty when its burst has drained.
      ASSERT_LE(now.monotonic_ns - last_admitted_ns, kBurstNs);
      continue;
    }
    ++admitted;
    last_admitted_ns = now.monotonic_ns;
    empties_at[who] = std::max(empties_at[who], now.monotonic_ns) + cost * kNsPerUnit;
    ASSERT_LE(empties_at[who] - now.monotonic_ns, kBurstNs) << names[who] << ", Check " << i;
  }
  EXPECT_GT(admitted, checks / 100);
  EXPECT_GT(engine.ReadStats(now).live_evictions, static_cast<uint64_t>(checks / 100));
}

// Health-time stops after some 36 years: what is owed then is owed for good.
TEST(EngineProperty, LimitsHoldAtTheEndOfTime) {
  for (const int64_t before_the_end_ns : {int64_t{0}, kSecondNs}) {
    Engine engine({.seed = 4711});
    ASSERT_TRUE(engine.Install(CrowdedPolicy(), {}).ok());
    const Now now{.monotonic_ns = VirtualClock::kHorizonNs - before_the_end_ns, .wall_ns = 0};
    CheckAnswer answer;
    int admitted = 0;
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(engine.Check({.identity = "job", .estimated_cost = 2}, now, answer).ok());
      admitted += answer.verdict == Verdict::kAllowed ? 1 : 0;
    }
    EXPECT_EQ(admitted, 5) << before_the_end_ns << " ns before the end";
  }
}

}  // namespace
}  // namespace headgate::engine
