// Snapshots from any bytes: refused, or restored to an engine that works and can be saved again.
//
// The first byte chooses: even ones leave the file as it is, so that headers and checksums are
// tried; odd ones seal it anew, so that what lies behind them is.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "server/decide/engine/engine.h"
#include "server/remember/snapshot/format.h"

namespace headgate {
namespace {

void Require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

engine::PolicySpec Policy() {
  engine::PolicySpec spec;
  // Named like those of the engine that the corpus is from: else no warning of its is told again.
  spec.budgets.resize(4);
  spec.budgets[0].name = "whole";  // at another rate than the corpus: its debt moves
  spec.budgets[0].rate = engine::UnitsPerSecond{20};
  spec.budgets[0].burst = 1000.0;
  spec.budgets[1].name = "split";
  spec.budgets[1].rate = engine::UnitsPerSecond{10};
  spec.budgets[1].burst = 1000.0;
  spec.budgets[1].split = engine::SplitByDepth{8};
  spec.budgets[1].max_buckets = 16;
  spec.budgets[2].name = "warns";
  spec.budgets[2].rate = engine::UnitsPerSecond{1};
  spec.budgets[2].burst = 5.0;
  spec.budgets[2].mode = engine::Mode::kWarn;
  spec.budgets[3].name = "places";
  spec.budgets[3].max_concurrency = 50;
  engine::RuleSpec rule;
  rule.name = "charge";
  rule.match.identity = "etl";
  rule.action = engine::ChargeAction{{"whole", "split", "warns", "places"}};
  spec.rules.push_back(std::move(rule));
  spec.profiles = {{.name = "lag", .signals = {"replication_lag_seconds"}}};
  spec.targets = {{.name = "orders", .capacity = {}, .default_health = "lag"}};
  return spec;
}

void Use(const snapshot::Decoded& decoded) {
  engine::EngineOptions options;
  options.seed = decoded.state.seed;
  options.max_permits = 64;
  options.max_patterns = 64;
  engine::Engine engine(options);
  const Now now{.monotonic_ns = 1'000'000'000'000, .wall_ns = 1'767'225'600'000'000'000};
  if (!engine.Restore(decoded.state, now, 1'000'000'000).ok()) return;
  if (!engine.Install(Policy(), now).ok()) return;
  engine::CheckAnswer answer;
  for (const char* identity : {"job-1:etl", "job-2:etl", "other"}) {
    engine::CheckRequest request{.identity = identity, .estimated_cost = 3};
    request.request_id = "request 1";
    if (engine.Check(request, now, answer).ok()) {
      (void)answer.Sentence();
      if (answer.verdict == engine::Verdict::kAllowed)
        (void)engine.Report(answer.permit, {.cost = 1}, now);
    }
    (void)engine.Explain({.identity = identity, .estimated_cost = 3}, now);
  }
  for (const engine::SavedPermit& permit : decoded.state.permits) {
    (void)engine.Report(decoded.state.generations[permit.slot] << 24 | permit.slot, {.cost = 2},
                        now);
  }
  (void)engine.ReadStats(now);
  (void)engine.ReadBudgets(now);
  (void)engine.ReadFullestBuckets("", "", 5, now);

  engine::SavedState state;
  engine.Save(now, state);
  snapshot::Encoded encoded;
  snapshot::Encode(state, decoded.boot, encoded);
  const absl::Status again = snapshot::Decode(encoded.bytes).status();
  Require(again.ok(), "what was restored cannot be saved: " + again.ToString());
}

}  // namespace
}  // namespace headgate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 1) headgate::snapshot::Seal(bytes);
  const absl::StatusOr<headgate::snapshot::Decoded> decoded = headgate::snapshot::Decode(bytes);
  if (decoded.ok()) headgate::Use(*decoded);
  return 0;
}
