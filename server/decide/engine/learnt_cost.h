// What was learnt of costs, as an operator is shown it.
//
// Plain data, thread-compatible; a filter only views its texts.
//
//   for (const LearntCost& cost : engine.ReadLearntCosts({.identity = "job-7:etl"}, now)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace headgate::engine {

// Of one pattern, or of all work of a root identity together. A name of which nothing is known any
// more is empty; of a long one, the first 128 bytes are known.
struct LearntCost {
  std::string target;
  std::string root;     // the last segment of the identities that taught it
  std::string caller;   // whose Reports taught it; empty: nobody was named, or callers share
  std::string pattern;  // empty, where `has_pattern` is not set: all work of the root
  bool has_pattern = false;
  std::optional<double> cost_ratio;  // actual cost for each estimated unit
  std::optional<double> mean_cost;
  std::optional<double> busy_ratio;  // busy seconds for each estimated unit
  std::optional<absl::Duration> mean_busy_time;
  int64_t reports = 0;  // that taught it
  absl::Time last_reported_at;
};

// Everything that is set has to hold; an empty text is not set.
struct LearntCostFilter {
  std::string_view target = {};
  std::string_view identity = {};  // of its root
  std::string_view pattern = {};   // the whole of it, whoever taught it
  // Only what this caller's Reports taught; empty: what those of nobody in particular did.
  std::optional<std::string_view> caller = {};
};

struct ForgottenCosts {
  static constexpr size_t kMostShown = 1000;

  std::vector<LearntCost> costs;  // as they were; at most so many
  size_t count = 0;               // of all
};

}  // namespace headgate::engine
