// What the tests of the recorder share: an engine, one counting thread, and sums of what was
// collected.
//
//   Recording log(OneBudget(RateBudget("b", 10, 100)));
//   log.Check("job:etl", 30);
//   EXPECT_EQ(log.Collect().at({...}).checks, 1);

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "server/remember/throttle_log/recorder.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::throttle_log {

using Sums = std::map<RowKey, Counts>;

inline void AddTo(Sums& sums, Recorder& recorder) {
  recorder.Collect(engine::At(),
                   [&](const RowKey& key, const Counts& counts) { sums[key].Add(counts); });
}

inline int64_t ChecksOf(const Sums& sums) {
  int64_t checks = 0;
  for (const auto& [key, counts] : sums) checks += counts.checks;
  return checks;
}

inline double CostIn(const Sums& sums) {
  double cost = 0;
  for (const auto& [key, counts] : sums) cost += counts.cost;
  return cost;
}

// Of one identity, whatever became of it.
inline int64_t ChecksOf(const Sums& sums, std::string_view identity) {
  int64_t checks = 0;
  for (const auto& [key, counts] : sums) {
    if (key.identity == identity) checks += counts.checks;
  }
  return checks;
}

// A rule matches everything, and limits nothing.
inline engine::PolicySpec NoLimits() {
  engine::PolicySpec spec;
  spec.rules = {engine::RuleOn("all", "", engine::PriorityAction{0})};
  return spec;
}

class Recording {
 public:
  static RecorderOptions Options() {
    RecorderOptions options;
    options.seed = 11;
    options.max_identities = 64;
    return options;
  }

  explicit Recording(engine::PolicySpec spec, const RecorderOptions& options = Options())
      : engine(std::move(spec), EngineOptions()), recorder(options), counts(recorder.AddThread()) {}

  engine::CheckAnswer Check(const engine::CheckRequest& request, Now now = engine::At()) {
    engine::CheckAnswer answer = engine.Check(request, now);
    counts.Record(request, answer, now);
    return answer;
  }
  engine::CheckAnswer Check(std::string_view identity, double cost, Now now = engine::At()) {
    return Check(engine::Request(identity, cost), now);
  }

  Sums Collect() {
    Sums sums;
    AddTo(sums, recorder);
    return sums;
  }

  engine::TestEngine engine;
  Recorder recorder;
  ThreadCounts& counts;

 private:
  static engine::EngineOptions EngineOptions() {
    engine::EngineOptions options = engine::TestEngine::Options();
    options.max_permits = 1 << 16;
    return options;
  }
};

}  // namespace headgate::throttle_log
