// What log and replay are asked, parsed and checked.
//
// Plain data; thread-compatible.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate::cli {

// Whose past, and how much of it.
struct PastArguments {
  std::string identity;
  std::string segment;
  std::string since;  // as TimeFromText takes it; empty: as the server has it
  std::string until;  // likewise; empty: now
  absl::TimeZone zone = absl::UTCTimeZone();  // of these, and of what is shown
  std::optional<int> limit;                   // of what is shown; absent: everything
};

struct LogArguments {
  enum class View { kIntervals, kSums, kHeat, kDenials, kFollow };

  PastArguments past;
  View view = View::kIntervals;
  std::vector<v1::Outcome> outcomes;
  std::vector<v1::Reason> reasons;
  std::vector<std::string> budgets;
  std::vector<std::string> signals;
  std::string server;
  std::vector<v1::LogGroup> by;
  int level = 0;                       // of the identity; 0: the whole
  std::optional<absl::Duration> step;  // absent: as it suits
  v1::LogOrder order = v1::LOG_ORDER_UNSPECIFIED;
  std::optional<double> min_denied;            // of a throttled step; absent: the server's
  absl::Duration interval = absl::Seconds(1);  // between two looks at what is new
};

// Whether only some of the denials are meant.
inline bool IsNarrowed(const LogArguments& log) {
  return !log.reasons.empty() || !log.budgets.empty() || !log.signals.empty();
}

struct ReplayArguments {
  PastArguments past;
  std::string config;  // the YAML file
};

}  // namespace headgate::cli
